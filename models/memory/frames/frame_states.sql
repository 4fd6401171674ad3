select
    frames.frame_id,
    len(frames.steps) as steps,
    case
        when latest.replay_id is null then 'not_replayed'
        when latest.is_complete then 'complete'
        else 'incomplete'
    end as state,
    coalesce(latest.verified_steps, 0) as verified_steps,
    latest.failed_position,
    failed.cell_id as failed_cell_id,
    latest.reason,
    latest.replay_id,
    latest.recorded_at as replayed_at
from {{ governed_memory.relation('frames') }} as frames
left join {{ governed_memory.relation('int_latest_replays') }} as latest on frames.frame_id = latest.frame_id
left join {{ governed_memory.relation('frame_steps') }} as failed on frames.frame_id = failed.frame_id and latest.failed_position = failed.position
