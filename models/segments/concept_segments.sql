{{ config(materialized='table') }}
with

scoped_intervals as (select * from {{ governed_memory.relation('int_scoped_intervals') }}),

records as (select * from {{ governed_memory.relation('records') }}),

{{ governed_memory.periods('scoped_intervals') }},

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
        on {{ governed_memory.is_same_question('periods', 'members') }} and periods.period_number = members.period_number
    left join records
        on members.store_id = records.store_id and members.record_index = records.record_index
)

select * from concept_segments
