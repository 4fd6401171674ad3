select
    frame_id,
    struct_extract(step, 'position') as position,
    struct_extract(step, 'cell_id') as cell_id,
    struct_extract(step, 'cell_fingerprint') as cell_fingerprint,
    order_from
from (
    select
        frame_id,
        order_from,
        unnest(steps) as step
    from {{ governed_memory.relation('frames') }}
)
