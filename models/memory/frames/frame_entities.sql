select
    frame_id,
    unnest(entities) as entity
from {{ governed_memory.relation('frames') }}
