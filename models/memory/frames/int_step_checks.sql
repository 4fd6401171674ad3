-- The walk of each frame (M6): a step is verified where nothing is wrong with it and with none before it
with

rereads as (
    select
        stream,
        held_id,
        event,
        remade_fingerprint,
        from_json(event, '{{ governed_memory.log_shape("cells") }}') as told
    from {{ governed_memory.relation('int_reread') }}
),

steps as (
    select
        steps.frame_id,
        steps.position,
        steps.cell_id,
        steps.cell_fingerprint,
        steps.order_from,
        cells.cell_id is not null as is_held,
        cells.fingerprint as held_fingerprint,
        rereads.event is not null as is_logged,
        rereads.remade_fingerprint,
        (cells.system, cells.content, cells.event_index, cells.created_at, cells.principal, cells.session_id)
        is distinct from (
            rereads.told.system, rereads.told.content, rereads.told.event_index, rereads.told.created_at, rereads.told.principal,
            rereads.told.session_id
        ) as differs_from_log,
        {{ governed_memory.source_sequence('cells') }} as source_sequence
    from {{ governed_memory.relation('frame_steps') }} as steps
    left join {{ governed_memory.relation('cells') }} as cells using (cell_id)
    left join rereads on steps.cell_id = rereads.held_id and rereads.stream = 'cells'
),

with_frames as (
    select
        steps.*,
        frames.fingerprint is distinct from frame_rereads.remade_fingerprint as is_frame_changed,
        max(steps.source_sequence) filter (where steps.is_held) over (
            partition by steps.frame_id
            order by steps.position
            rows between unbounded preceding and 1 preceding
        ) as sequence_so_far
    from steps
    inner join {{ governed_memory.relation('frames') }} as frames using (frame_id)
    left join rereads as frame_rereads on steps.frame_id = frame_rereads.held_id and frame_rereads.stream = 'frames'
),

checked as (
    select
        frame_id,
        position,
        cell_id,
        case
            when is_frame_changed then 'frame_changed'
            when not is_held then 'cell_missing'
            when held_fingerprint is distinct from cell_fingerprint then 'fingerprint_changed'
            when not is_logged then 'event_missing'
            when remade_fingerprint is distinct from cell_fingerprint then 'event_changed'
            when differs_from_log then 'table_differs'
            when order_from = 'source' and source_sequence < sequence_so_far then 'out_of_order'
        end as problem
    from with_frames
)

select
    frame_id,
    position,
    cell_id,
    problem,
    count(problem) over (
        partition by frame_id
        order by position
        rows between unbounded preceding and current row
    ) = 0 as is_verified
from checked
