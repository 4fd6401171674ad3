select
    frame_id,
    step."position" as position,
    step.cell_id as cell_id,
    step.cell_fingerprint as cell_fingerprint,
    order_from
from (
    select
        frame_id,
        order_from,
        unnest(steps) as step
    from {{ governed_memory.relation('frames') }}
)
