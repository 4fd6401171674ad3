{{ config(materialized='table') }}
{#- Boundaries are numbered and records joined to them by range, so that a concept with many records does not compare each with each. -#}
with

scoped_intervals as (select * from {{ governed_memory.relation('int_scoped_intervals') }}),

records as (select * from {{ governed_memory.relation('records') }}),

boundaries as (
    select distinct store_id, concept_id, question_class_id, in_force_from as starts_on
    from scoped_intervals
    union
    select distinct store_id, concept_id, question_class_id, in_force_to + 1 as starts_on
    from scoped_intervals
    where in_force_to is not null
),

periods as (
    select
        *,
        row_number() over question as period_number,
        lead(starts_on) over question - 1 as ends_on
    from boundaries
    window question as (partition by store_id, concept_id, question_class_id order by starts_on)
),

spans as (
    select
        scoped_intervals.store_id,
        scoped_intervals.concept_id,
        scoped_intervals.question_class_id,
        scoped_intervals.record_index,
        first_periods.period_number as first_number,
        next_periods.period_number as next_number
    from scoped_intervals
    inner join periods as first_periods
        on scoped_intervals.store_id = first_periods.store_id and scoped_intervals.concept_id = first_periods.concept_id
        and scoped_intervals.question_class_id is not distinct from first_periods.question_class_id
        and scoped_intervals.in_force_from = first_periods.starts_on
    left join periods as next_periods
        on scoped_intervals.store_id = next_periods.store_id and scoped_intervals.concept_id = next_periods.concept_id
        and scoped_intervals.question_class_id is not distinct from next_periods.question_class_id
        and scoped_intervals.in_force_to + 1 = next_periods.starts_on
),

last_numbers as (
    select store_id, concept_id, question_class_id, max(period_number) as last_number
    from periods
    group by all
),

members as (
    select
        spans.store_id,
        spans.concept_id,
        spans.question_class_id,
        spans.record_index,
        unnest(range(spans.first_number, coalesce(spans.next_number, last_numbers.last_number + 1))) as period_number
    from spans
    inner join last_numbers
        on spans.store_id = last_numbers.store_id and spans.concept_id = last_numbers.concept_id
        and spans.question_class_id is not distinct from last_numbers.question_class_id
),

concept_segments as (
    select
        periods.store_id,
        periods.concept_id,
        periods.question_class_id,
        periods.starts_on,
        periods.ends_on,
        records.record_id,
        records.value,
        records.source_id,
        records.valid_from,
        records.is_restricted,
        records.release_to,
        count(members.record_index) over (
            partition by periods.store_id, periods.concept_id, periods.question_class_id, periods.starts_on
        ) as in_force_count
    from periods
    left join members
        on periods.store_id = members.store_id and periods.concept_id = members.concept_id
        and periods.question_class_id is not distinct from members.question_class_id
        and periods.period_number = members.period_number
    left join records
        on members.store_id = records.store_id and members.record_index = records.record_index
)

select * from concept_segments
