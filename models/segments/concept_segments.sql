{{ config(materialized='table') }}
with

questions as (select * from {{ governed_memory.relation('int_concept_scopes') }}),

periods as (select * from {{ governed_memory.relation('int_question_periods') }}),

tallied as (
    select
        tallies.*,
        coalesce(concepts.cardinality, 'one') as cardinality
    from {{ governed_memory.relation('int_period_tallies') }} as tallies
    inner join questions on tallies.question_number = questions.question_number
    left join {{ governed_memory.relation('concepts') }} as concepts on questions.concept_id = concepts.concept_id
),

contestants as (
    select * from {{ governed_memory.relation('int_placed_stretches') }}
    where contest_level is not null
),

{{ governed_memory.sides('tallied', 'contestants') }},

refused as (select * from {{ governed_memory.relation('int_refused_concepts') }}),

holdings as (select * from {{ governed_memory.relation('int_concept_holdings') }}),

resolved as (
    select
        questions.store_id,
        questions.concept_id,
        questions.question_class_id,
        periods.starts_on,
        periods.ends_on,
        case when refused.reason is not null then 'refused' else coalesce(sides.resolution, 'empty') end as resolution,
        sides.record_index,
        case
            when refused.reason is not null then [refused.reason]
            else {{ governed_memory.reason_codes('tallied', 'holdings.known_count', 'sides.resolution') }}
        end as reasons,
        coalesce(tallied.relevant_count, 0) as relevant_count,
        releases.restricted_counts,
        holdings.holds_open,
        holdings.held_for
    from periods
    inner join questions on periods.question_number = questions.question_number
    inner join holdings on questions.store_id = holdings.store_id and questions.concept_id = holdings.concept_id
    left join refused on questions.store_id = refused.store_id and questions.concept_id = refused.concept_id
    left join tallied on periods.question_number = tallied.question_number and periods.period_number = tallied.period_number
    left join sides on periods.question_number = sides.question_number and periods.period_number = sides.period_number
    left join {{ governed_memory.relation('int_period_releases') }} as releases
        on periods.question_number = releases.question_number and periods.period_number = releases.period_number
),

records as (select * from {{ governed_memory.relation('records') }}),

concept_segments as (
    select
        resolved.* exclude (record_index),  -- noqa: RF02
        records.record_id,
        records.value,
        records.source_id,
        records.valid_from,
        records.is_restricted,
        records.release_to
    from resolved
    left join records
        on resolved.store_id = records.store_id and resolved.record_index = records.record_index
)

select * from concept_segments
order by store_id, concept_id
