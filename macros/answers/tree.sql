{#- Long stretches over many periods are summed by way of a binary tree: node n of level k stands for the 2^k periods from n * 2^k on. A stretch
    is the union of at most two nodes of each level, and a period lies in one node of each; so ten thousand records that never end cost as
    many steps as they have digits, not one for each period that each covers.

    The rows of a clause with first_period and last_period (from 1), once for each of their nodes, as node_level and node. -#}
{% macro with_nodes(placed) -%}
    select * exclude (lowest, beyond, nodes), unnest(nodes) as node  -- noqa: RF02
    from (
        select *, list_distinct([case when lowest % 2 = 1 then lowest end, case when beyond % 2 = 1 then beyond - 1 end]) as nodes
        from (
            select
                *,
                (first_period - 2 + (1::bigint << node_level)) >> node_level as lowest,
                last_period >> node_level as beyond
            from (
                select *, unnest(range({{ governed_memory.tree_depth('last_period - first_period + 1') }})) as node_level
                from {{ placed }}
            )
        )
        where lowest < beyond
    )
{%- endmacro %}

{#- Each period of a clause with period_number and period_count, once for each node that it lies in. -#}
{% macro with_ancestors(periods) -%}
    select *, (period_number - 1) >> node_level as node
    from (
        select *, unnest(range({{ governed_memory.tree_depth('period_count') }})) as node_level
        from {{ periods }}
    )
{%- endmacro %}

{#- How many levels a tree over so many periods has. -#}
{% macro tree_depth(period_count) -%}
    cast(floor(log2({{ period_count }})) as bigint) + 1
{%- endmacro %}
