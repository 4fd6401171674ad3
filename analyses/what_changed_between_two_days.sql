-- What came into force and what ended between two days, and what it was replaced by.
-- How to read it: one row per record and change; an end is the first day on which the record no longer holds.
with

intervals as (select * from {{ ref('record_intervals') }}),

changes as (
    select
        store_id,
        concept_id,
        record_id,
        'came into force' as change,
        in_force_from as changed_on,
        null as replaced_by
    from intervals
    where in_force_from between date '2026-07-01' and date '2026-10-01'
    union all
    select
        store_id,
        concept_id,
        record_id,
        coalesce(end_reason, 'ended') as change,
        in_force_to + 1 as changed_on,
        ended_by as replaced_by
    from intervals
    where in_force_to + 1 between date '2026-07-01' and date '2026-10-01'
)

select *
from changes
order by changed_on, store_id, concept_id, record_id
