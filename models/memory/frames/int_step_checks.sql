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
        -- compared as a whole, nulls are equal
        (cells.system, cells.content, cells.event_index, cells.created_at, cells.principal, cells.session_id) = (
            struct_extract(rereads.told, 'system'), struct_extract(rereads.told, 'content'), struct_extract(rereads.told, 'event_index'),
            struct_extract(rereads.told, 'created_at'), struct_extract(rereads.told, 'principal'), struct_extract(rereads.told, 'session_id')
        ) as is_as_logged,
        {{ governed_memory.source_sequence('cells') }} as source_sequence
    from {{ governed_memory.relation('frame_steps') }} as steps
    left join {{ governed_memory.relation('cells') }} as cells on steps.cell_id = cells.cell_id
    left join rereads on steps.cell_id = rereads.held_id and rereads.stream = 'cells'
),

with_frames as (
    select
        steps.*,
        coalesce(frames.fingerprint = frame_rereads.remade_fingerprint, false) as is_frame_as_bound,
        max(case when steps.is_held then steps.source_sequence end) over (
            partition by steps.frame_id
            order by steps.position
            rows between unbounded preceding and 1 preceding
        ) as sequence_so_far
    from steps
    inner join {{ governed_memory.relation('frames') }} as frames on steps.frame_id = frames.frame_id
    left join rereads as frame_rereads on steps.frame_id = frame_rereads.held_id and frame_rereads.stream = 'frames'
),

checked as (
    select
        frame_id,
        position,
        cell_id,
        case
            when not is_frame_as_bound then 'frame_changed'
            when not is_held then 'cell_missing'
            when held_fingerprint <> cell_fingerprint then 'fingerprint_changed'
            when not is_logged then 'event_missing'
            when coalesce(remade_fingerprint <> cell_fingerprint, true) then 'event_changed'
            when not is_as_logged then 'table_differs'
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
