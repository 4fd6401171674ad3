{{ config(materialized='table') }}
{#- One row per period with its sides in a list, so that telling a caller is a matter of one row: what answers are looked up in. In the
    order of concepts, so that a look-up reads little. -#}
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
    select
        stretches.*,
        questions.store_id
    from {{ governed_memory.relation('int_placed_stretches') }} as stretches
    inner join questions on stretches.question_number = questions.question_number
    where stretches.contest_level is not null
),

{{ governed_memory.sides('tallied', 'contestants', governed_memory.relation('records')) }},

refused as (select * from {{ governed_memory.relation('int_refused_concepts') }}),

holdings as (select * from {{ governed_memory.relation('int_concept_holdings') }}),

segments as (
    select
        questions.store_id,
        questions.concept_id,
        questions.question_class_id,
        periods.starts_on,
        periods.ends_on,
        case when refused.reason is not null then 'refused' else coalesce(side_lists.resolution, 'empty') end as resolution,
        side_lists.sides,
        coalesce(side_lists.for_nobody_count, 0) as for_nobody_count,
        case
            when refused.reason is not null then [refused.reason]
            else {{ governed_memory.reason_codes('tallied', 'holdings.known_count', 'side_lists.resolution') }}
        end as reasons,
        coalesce(tallied.relevant_count, 0) as relevant_count,
        coalesce(releases.restricted_count, 0) as restricted_count,
        releases.restricted_counts,
        holdings.holds_open,
        holdings.held_for
    from periods
    inner join questions on periods.question_number = questions.question_number
    inner join holdings on questions.store_id = holdings.store_id and questions.concept_id = holdings.concept_id
    left join refused on questions.store_id = refused.store_id and questions.concept_id = refused.concept_id
    left join tallied on periods.question_number = tallied.question_number and periods.period_number = tallied.period_number
    left join side_lists on periods.question_number = side_lists.question_number and periods.period_number = side_lists.period_number
    left join {{ governed_memory.relation('int_period_releases') }} as releases
        on periods.question_number = releases.question_number and periods.period_number = releases.period_number
)

select * from segments
order by concept_id, store_id
