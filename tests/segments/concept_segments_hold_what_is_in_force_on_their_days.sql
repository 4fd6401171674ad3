{#- On the first and the last day of every segment: exactly the records whose interval in that question covers the day. Concepts of more
    than a thousand intervals are left out, for which comparing each with each would take too long. -#}
with

segments as (select * from {{ governed_memory.relation('concept_segments') }}),

intervals as (
    select * from {{ governed_memory.relation('int_scoped_intervals') }}
    qualify count(*) over (partition by store_id, concept_id) <= 1000
),

compared_concepts as (select distinct store_id, concept_id from intervals),

records as (select * from {{ governed_memory.relation('records') }}),

days as (
    select distinct
        segments.store_id,
        segments.concept_id,
        segments.question_class_id,
        segments.starts_on,
        unnest([segments.starts_on, coalesce(segments.ends_on, date '9999-12-31')]) as day
    from segments
    semi join compared_concepts
        on segments.store_id = compared_concepts.store_id and segments.concept_id = compared_concepts.concept_id
),

expected as (
    select days.store_id, days.concept_id, days.question_class_id, days.day, records.record_id
    from days
    inner join intervals
        on days.store_id = intervals.store_id and days.concept_id = intervals.concept_id
        and days.question_class_id is not distinct from intervals.question_class_id
        and days.day >= intervals.in_force_from and coalesce(days.day <= intervals.in_force_to, true)
    inner join records
        on intervals.store_id = records.store_id and intervals.record_index = records.record_index
),

held as (
    select days.store_id, days.concept_id, days.question_class_id, days.day, segments.record_id
    from days
    inner join segments
        on days.store_id = segments.store_id and days.concept_id = segments.concept_id
        and days.question_class_id is not distinct from segments.question_class_id
        and days.starts_on = segments.starts_on
    where segments.in_force_count > 0
),

{{ governed_memory.rows_that_differ('expected', 'held') }}

select * from differences
