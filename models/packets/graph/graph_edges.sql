{#- What joins two nodes, and what it is called (M10). Both ends are held; what is named and not held joins nothing. -#}
with

joined as (
    select
        from_cell_id as from_id,
        to_cell_id as to_id,
        link_type as relation
    from {{ governed_memory.relation('links') }}
    union
    select
        cell_id as from_id,
        unnest(source_ids) as to_id,
        'source' as relation
    from {{ governed_memory.relation('cells') }}
    union
    select
        trace_id as from_id,
        unnest(source_ids) as to_id,
        'source' as relation
    from {{ governed_memory.relation('traces') }}
    union
    select
        cell_id as from_id,
        trace_id as to_id,
        case when succeeded then 'success' else 'failure' end as relation
    from {{ governed_memory.relation('skill_lineage') }}
    where is_held
    union
    select
        frame_id as from_id,
        cell_id as to_id,
        'step' as relation
    from {{ governed_memory.relation('frame_steps') }}
    union
    select
        decision_id as from_id,
        unnest(subject_ids) as to_id,
        'decision' as relation
    from {{ governed_memory.relation('decisions') }}
    union
    select
        approval_id as from_id,
        cell_id as to_id,
        'approval' as relation
    from {{ governed_memory.relation('approvals') }}
    where cell_id is not null
),

nodes as (select * from {{ governed_memory.relation('graph_nodes') }})

select
    joined.from_id,
    joined.to_id,
    joined.relation,
    case when from_nodes.scale = 'schema' or to_nodes.scale = 'schema' then adjacencies.adjacency_of_schema else adjacencies.adjacency end as adjacency
from joined
inner join nodes as from_nodes on joined.from_id = from_nodes.node_id
inner join nodes as to_nodes on joined.to_id = to_nodes.node_id
inner join {{ governed_memory.relation('adjacencies') }} as adjacencies on joined.relation = adjacencies.relation
