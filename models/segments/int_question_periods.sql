{{ config(materialized='table') }}
{#- Every date on which a stretch begins or is over opens a period; the first lies before them all. -#}
with

stretches as (select * from {{ governed_memory.relation('int_stretches') }}),

boundaries as (
    select question_number, null::date as starts_on
    from {{ governed_memory.relation('int_concept_scopes') }}
    union
    select question_number, starts_on
    from stretches
    union
    select question_number, ends_on + 1 as starts_on
    from stretches
    where ends_on is not null
),

question_periods as (
    select
        question_number,
        starts_on,
        row_number() over (question order by starts_on nulls first) as period_number,
        lead(starts_on) over (question order by starts_on nulls first) - 1 as ends_on,
        count(*) over (partition by question_number) as period_count
    from boundaries
    window question as (partition by question_number)
)

select * from question_periods
