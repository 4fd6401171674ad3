{#- The dates of record_intervals alone: for rules, which need those of every record and no more. -#}
select
    store_id,
    record_index,
    interval_status,
    in_force_from,
    in_force_to
from {{ governed_memory.relation('record_intervals') }}
