{#- A record that a successor ended early names it and says how; one that expired names none (T9). A successor without an identifier
    cannot be named. -#}
with

record_intervals as (
    select * from {{ governed_memory.relation('record_intervals_built') }}
    where interval_status = 'in_force'
)

select store_id, record_index, record_id, ended_by, end_reason
from record_intervals
where
    (ended_by is not null and coalesce(end_reason not in ('replaced', 'ended', 'was_wrong'), true))
    or (end_reason = 'expired' and in_force_to is distinct from valid_to)
    or (end_reason is null and in_force_to is not null)
    or (end_reason = 'was_wrong')
    or (is_partly_ended and end_reason = 'expired')
