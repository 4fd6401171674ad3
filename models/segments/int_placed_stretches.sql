{{ config(materialized='table') }}
with

stretches as (select * from {{ governed_memory.relation('int_stretches') }}),

periods as (select * from {{ governed_memory.relation('int_question_periods') }}),

placed_stretches as (
    select
        stretches.*,
        first_periods.period_number as first_period,
        case when stretches.ends_on is null then first_periods.period_count else next_periods.period_number - 1 end as last_period
    from stretches
    inner join periods as first_periods
        on stretches.question_number = first_periods.question_number and stretches.starts_on is not distinct from first_periods.starts_on
    left join periods as next_periods
        on stretches.question_number = next_periods.question_number and stretches.ends_on + 1 = next_periods.starts_on
)

select * from placed_stretches
