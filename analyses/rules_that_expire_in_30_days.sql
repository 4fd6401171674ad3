-- Which records in force on the build's date stop holding within the 30 days after it.
-- How to read it: `expired` first, for these nothing takes over by itself: ask the owner for a successor, or accept that the concept falls
-- silent. `replaced` and `ended` are planned. is_partly_ended: it goes on for other classes of questions.
with

builds as (select * from {{ governed_memory.relation('stg_build') }}),

intervals as (select * from {{ governed_memory.relation('records_in_force') }})

select
    intervals.in_force_to as last_day,
    intervals.store_id,
    intervals.concept_id,
    intervals.record_id,
    intervals.end_reason,
    intervals.ended_by,
    intervals.is_partly_ended,
    intervals.concept_owner,
    intervals.owner_role
from intervals
inner join builds on intervals.in_force_to <= builds.on_date + 30
order by intervals.end_reason <> 'expired', intervals.in_force_to, intervals.store_id, intervals.concept_id, intervals.record_id
