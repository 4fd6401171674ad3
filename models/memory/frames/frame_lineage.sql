with recursive

-- Each cell once under each cell that names it: what names itself in the end, which no guard lets in, ends the walk too
walked as (
    select
        frame_id,
        position,
        cell_id as step_cell_id,
        null::varchar as named_by,
        cell_id
    from {{ governed_memory.relation('frame_steps') }}
    union
    select
        walked.frame_id,
        walked.position,
        walked.step_cell_id,
        walked.cell_id as named_by,
        unnest(cells.source_ids) as cell_id
    from walked
    inner join {{ governed_memory.relation('cells') }} as cells on walked.cell_id = cells.cell_id
)

select
    walked.frame_id,
    walked.position,
    walked.step_cell_id,
    walked.named_by,
    walked.cell_id,
    cells.system,
    cells.source,
    cells.cell_id is not null as is_held,
    -- where the walk ends: nothing that memory holds lies behind it
    coalesce(len(cells.source_ids), 0) = 0 as is_origin
from walked
left join {{ governed_memory.relation('cells') }} as cells on walked.cell_id = cells.cell_id
