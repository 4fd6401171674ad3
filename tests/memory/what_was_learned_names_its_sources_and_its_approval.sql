-- M2: semantic and procedural cells lead back to what they come from and to who approved them
select cells.cell_id
from {{ ref('cells') }} as cells
inner join {{ ref('memory_systems') }} as systems on cells.system = systems.system
where systems.needs_approval and (len(cells.source_ids) = 0 or coalesce(cells.approval_id, '') = '')
