-- What a link may join: cells, and the frame that a replay starts from
select cell_id
from {{ governed_memory.relation('cells') }}
union all
select frame_id as cell_id
from {{ governed_memory.relation('frames') }}
