-- The last replay of each frame: the one that none follows. Writers that wait for nobody may follow the same one; then the later counts
select
    frame_id,
    replay_id,
    is_complete,
    verified_steps,
    failed_position,
    reason,
    recorded_at
from {{ governed_memory.relation('replays') }}
where not exists (
    select 1
    from {{ governed_memory.relation('replays') }} as later
    where later.follows = replays.replay_id
)
qualify row_number() over (partition by frame_id order by recorded_at desc, replay_id desc) = 1
