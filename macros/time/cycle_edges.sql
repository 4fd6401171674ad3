{#- The edges of a set that lie on a cycle (T5), as with-clauses ending in `cycle_edges` (store_id, successor_index,
    predecessor_index, is_undecided). `edges` names a clause with store_id, successor_index, predecessor_index and the two valid_from.

    Records are ordered by valid_from, then arrival. Every cycle has at least one edge that runs with that order and one that runs
    against it, so it is enough to walk from whichever kind is rarer in the store (int_edge_directions), and never past the start: a
    million edges that all run one way cost one count. A walk is given up after `max_steps`; its first edge is then undecided. -#}
{% macro cycle_edges(edges, max_steps=1000) -%}
positioned as (
    select
        store_id,
        successor_index as upper,
        predecessor_index as lower,
        {{ governed_memory.arrival_position('successor') }} as upper_position,
        {{ governed_memory.arrival_position('predecessor') }} as lower_position
    from {{ edges }}
),

directed as (
    select
        positioned.store_id,
        positioned.upper,
        positioned.lower,
        positioned.upper_position * directions.direction as upper_position,
        positioned.lower_position * directions.direction as lower_position
    from positioned
    inner join {{ governed_memory.relation('int_edge_directions') }} as directions
        on positioned.store_id = directions.store_id
),

walks (store_id, start_upper, start_lower, start_position, node, steps) using key (store_id, start_upper, start_lower, node) as (
    select store_id, upper as start_upper, lower as start_lower, upper_position as start_position, lower as node, 1 as steps
    from directed
    where upper_position < lower_position
    union
    select walks.store_id, walks.start_upper, walks.start_lower, walks.start_position, directed.lower, walks.steps + 1
    from walks
    inner join directed
        on walks.store_id = directed.store_id and walks.node = directed.upper and directed.lower_position >= walks.start_position
    where walks.node <> walks.start_upper and walks.steps < {{ max_steps }}
        and not exists (
            select 1 from recurring.walks as seen
            where seen.store_id = walks.store_id and seen.start_upper = walks.start_upper
                and seen.start_lower = walks.start_lower and seen.node = directed.lower
        )
),

reached as (
    select distinct store_id, start_upper, start_lower, node
    from walks
),

closed as (
    select store_id, start_upper, start_lower
    from reached
    where node = start_upper
),

returns as (
    select store_id, start_upper, start_lower, start_upper as node
    from closed
    union
    select returns.store_id, returns.start_upper, returns.start_lower, directed.upper
    from returns
    inner join directed
        on returns.store_id = directed.store_id and returns.node = directed.lower
    inner join reached
        on returns.store_id = reached.store_id and returns.start_upper = reached.start_upper
        and returns.start_lower = reached.start_lower and directed.upper = reached.node
),

cycle_edges as (
    select distinct directed.store_id, directed.upper as successor_index, directed.lower as predecessor_index, false as is_undecided
    from returns as uppers
    inner join directed
        on uppers.store_id = directed.store_id and uppers.node = directed.upper
    inner join returns as lowers
        on uppers.store_id = lowers.store_id and uppers.start_upper = lowers.start_upper
        and uppers.start_lower = lowers.start_lower and directed.lower = lowers.node
    union all
    select distinct store_id, start_upper, start_lower, true
    from walks
    where steps = {{ max_steps }}
        and (store_id, start_upper, start_lower) not in (select store_id, start_upper, start_lower from closed)
)
{%- endmacro %}

{% macro arrival_position(end) -%}
    cast(coalesce({{ end }}_valid_from, date '0001-01-01') - date '0001-01-01' as bigint) * 4294967296 + {{ end }}_index
{%- endmacro %}
