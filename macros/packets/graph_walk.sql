{#- The nodes that a walk from `start` comes to, nearest first, along edges of some adjacencies and over nodes of some scales (null for all), as far as
    the reader may read: a row for each node with how many steps it is away and its edges to the others, and the same columns in each row saying what was
    cut. Of what may not be read nothing is told but how many such nodes are next to those shown (G7).

    A frame is read by who may read the cell of every step; a decision, by who may read all it is about; an approval, by who may read its cell; a trace, as a cell. -#}
{% macro graph_walk(start, adjacencies, scales, most_nodes, most_steps, reader) -%}
with recursive

needed as (
    select cell_id as node_id, cell_id from {{ governed_memory.relation('cells') }}
    union all
    select frame_id as node_id, cell_id from {{ governed_memory.relation('frame_steps') }}
    union all
    select decision_id as node_id, unnest(subject_ids) as cell_id from {{ governed_memory.relation('decisions') }}
    union all
    select approval_id as node_id, cell_id from {{ governed_memory.relation('approvals') }} where cell_id is not null
),

readable_nodes as materialized (
    select needed.node_id
    from needed
    left join {{ governed_memory.relation('cells') }} as cells on needed.cell_id = cells.cell_id
    group by needed.node_id
    having bool_and(coalesce({{ governed_memory.readable('cells', reader) }}, false))
    union all
    select trace_id as node_id
    from {{ governed_memory.relation('traces') }} as traces
    where {{ governed_memory.readable('traces', reader) }}
),

nodes as materialized (
    select
        graph_nodes.*,
        readable_nodes.node_id is not null as is_readable,
        coalesce(list_contains({{ scales }}, graph_nodes.scale), true) as is_in_scale
    from {{ governed_memory.relation('graph_nodes') }} as graph_nodes
    left join readable_nodes on graph_nodes.node_id = readable_nodes.node_id
),

ways as materialized (
    select
        edges.from_id as node_id,
        edges.to_id as other_id,
        edges.adjacency,
        coalesce(list_contains({{ adjacencies }}, edges.adjacency), true) as is_followed
    from {{ governed_memory.relation('graph_edges') }} as edges
    union
    select
        edges.to_id as node_id,
        edges.from_id as other_id,
        edges.adjacency,
        coalesce(list_contains({{ adjacencies }}, edges.adjacency), true) as is_followed
    from {{ governed_memory.relation('graph_edges') }} as edges
),

walked as (
    select
        node_id,
        0 as steps
    from nodes
    where node_id = {{ start }} and is_readable
    union
    select
        ways.other_id as node_id,
        walked.steps + 1 as steps
    from walked
    inner join ways on walked.node_id = ways.node_id and ways.is_followed
    inner join nodes on ways.other_id = nodes.node_id and nodes.is_readable and nodes.is_in_scale
    where walked.steps < {{ most_steps }}
),

reached as (
    select
        node_id,
        min(steps) as steps,
        row_number() over (order by min(steps), node_id) as place
    from walked
    group by node_id
),

shown as (select * from reached where place <= {{ most_nodes }}),

next_to as (
    select
        ways.*,
        nodes.is_readable,
        nodes.is_in_scale,
        beyond.node_id is not null as is_shown,
        further.node_id is not null as is_reached
    from shown
    inner join ways on shown.node_id = ways.node_id
    inner join nodes on ways.other_id = nodes.node_id
    left join shown as beyond on ways.other_id = beyond.node_id
    left join reached as further on ways.other_id = further.node_id
),

cut as (
    select
        (select count(*) from reached where place > {{ most_nodes }}) as cut_by_budget,
        count(distinct other_id) filter (where not is_readable and is_followed) as withheld,
        count(distinct other_id) filter (where is_readable and is_followed and not is_in_scale and not is_shown) as cut_by_scale,
        count(distinct other_id) filter (where is_readable and is_in_scale and not is_followed and not is_reached) as cut_by_type,
        count(distinct other_id) filter (where is_readable and is_in_scale and is_followed and not is_reached) as cut_by_steps
    from next_to
),

drawn as (
    select
        node_id,
        list({'to': other_id, 'adjacency': adjacency} order by other_id, adjacency) as edges
    from next_to
    where is_shown and is_followed
    group by node_id
)

select
    shown.place,
    shown.steps,
    nodes.node_id,
    nodes.scale,
    nodes.kind,
    coalesce(drawn.edges, []) as edges,
    cut.*
from shown
inner join nodes on shown.node_id = nodes.node_id
left join drawn on shown.node_id = drawn.node_id
cross join cut
order by shown.place
{%- endmacro %}
