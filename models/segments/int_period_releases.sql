{{ config(materialized='table') }}
{#- For whom the restricted records are that bear on a question in a period: what a caller is not among is counted as withheld (G7). -#}
with

placed as (
    select question_number, first_period, last_period, restricted_to
    from {{ governed_memory.relation('int_placed_stretches') }}
    where restricted_to is not null
),

periods as (
    select question_periods.*
    from {{ governed_memory.relation('int_question_periods') }} as question_periods
    semi join placed on question_periods.question_number = placed.question_number
),

nodes as (
    select question_number, node_level, node, restricted_to, count(*) as record_count
    from ({{ governed_memory.with_nodes('placed') }})
    group by all
),

ancestors as (
    {{ governed_memory.with_ancestors('periods') }}
),

released as (
    select ancestors.question_number, ancestors.period_number, nodes.restricted_to, sum(nodes.record_count)::bigint as record_count
    from ancestors
    inner join nodes
        on ancestors.question_number = nodes.question_number and ancestors.node_level = nodes.node_level and ancestors.node = nodes.node
    group by all
),

period_releases as (
    select
        question_number,
        period_number,
        sum(record_count)::bigint as restricted_count,
        list({ 'release_to': restricted_to, 'record_count': record_count } order by restricted_to) as restricted_counts
    from released
    group by all
)

select * from period_releases
