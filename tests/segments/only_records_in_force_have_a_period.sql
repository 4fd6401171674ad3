{#- Nothing else may be returned as of any date: not a withdrawal (T9), an inverted or empty interval (T4), unknown validity (T1) or an
    identifier that two records share. -#}
select store_id, record_index, record_id, interval_status
from {{ governed_memory.relation('record_intervals_built') }}
where
    (interval_status <> 'in_force' and (in_force_from is not null or in_force_to is not null))
    or (interval_status = 'in_force') and (withdrawal is not null or valid_to < valid_from)
