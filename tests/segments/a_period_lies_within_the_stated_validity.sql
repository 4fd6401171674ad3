{#- A derived period begins where the record says, and never outlasts the end that it states (T4). -#}
select store_id, record_index, record_id, in_force_from, in_force_to, valid_from, valid_to
from {{ governed_memory.relation('record_intervals_built') }}
where
    in_force_from <> valid_from
    or in_force_to > valid_to
    or (interval_status = 'in_force' and in_force_to is null and valid_to is not null)
