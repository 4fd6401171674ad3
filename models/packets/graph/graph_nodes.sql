{#- What the graph has as nodes, at three scales. It says what there is and never what it says: the view may be cut or built again, and nothing of it is
    written back (M10). -#}
select
    cell_id as node_id,
    case when system in ('working', 'episodic') then 'episode' else 'schema' end as scale,
    system as kind
from {{ governed_memory.relation('cells') }}
union all
select
    frame_id as node_id,
    'episode' as scale,
    'frame' as kind
from {{ governed_memory.relation('frames') }}
union all
select
    trace_id as node_id,
    'episode' as scale,
    'trace' as kind
from {{ governed_memory.relation('traces') }}
union all
select
    decision_id as node_id,
    'control' as scale,
    'decision' as kind
from {{ governed_memory.relation('decisions') }}
union all
select
    approval_id as node_id,
    'control' as scale,
    verdict as kind
from {{ governed_memory.relation('approvals') }}
