{{ config(materialized='table') }}
with

placed as (select * from {{ governed_memory.relation('int_placed_stretches') }}),

periods as (select * from {{ governed_memory.relation('int_question_periods') }}),

nodes as (
    select
        question_number,
        node_level,
        node,
        contest_level,
        max(precedence) as precedence,
        max(recency) as recency,
        min(value_number) as least_value,
        max(value_number) as greatest_value,
        bit_or(reasons) as reasons,
        sum(relevant) as relevant,
        sum(covering) as covering
    from ({{ governed_memory.with_nodes('placed') }})
    group by question_number, node_level, node, contest_level
),

ancestors as (
    {{ governed_memory.with_ancestors('periods') }}
),

period_sums as (
    select
        ancestors.question_number,
        ancestors.period_number,
        nodes.* exclude (question_number, node_level, node)  -- noqa: RF02
    from ancestors
    left join nodes
        on ancestors.question_number = nodes.question_number and ancestors.node_level = nodes.node_level and ancestors.node = nodes.node
),

{{ governed_memory.tallies('period_sums') }}

select * from tallies
