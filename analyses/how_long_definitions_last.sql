-- How long a definition lasts, by owner and by concept: the median of the days its records were in force.
-- How to read it: one row per owner (no concept) and one per concept. Only records that have ended by the build's date count for the median;
-- those still in force are counted beside it, with the days of the oldest so far. Few days and many records: the concept is not settled.
with

builds as (select * from {{ governed_memory.relation('stg_build') }}),

lives as (
    select
        intervals.store_id,
        intervals.concept_owner,
        -- once for the owner and once for the concept
        unnest([null, intervals.concept_id]) as concept_id,
        coalesce(intervals.in_force_to < builds.on_date, false) as has_ended,
        least(intervals.in_force_to, builds.on_date) - intervals.in_force_from + 1 as days
    from {{ governed_memory.relation('record_intervals_built') }} as intervals
    inner join builds on intervals.in_force_from <= builds.on_date
    where intervals.concept_id is not null
)

select
    store_id,
    concept_owner,
    concept_id,
    count(*) filter (where has_ended) as ended_records,
    median(days) filter (where has_ended) as median_days,
    count(*) filter (where not has_ended) as records_in_force,
    max(days) filter (where not has_ended) as oldest_days
from lives
group by store_id, concept_owner, concept_id
order by store_id asc, concept_owner asc, concept_id asc nulls first
