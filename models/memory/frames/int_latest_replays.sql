-- The last replay of each frame: the one that none follows. Writers that wait for nobody may follow the same one; then the later counts
with

followed as (
    select distinct follows as replay_id
    from {{ governed_memory.relation('replays') }}
)

select
    replays.frame_id,
    replays.replay_id,
    replays.is_complete,
    replays.verified_steps,
    replays.failed_position,
    replays.reason,
    replays.recorded_at
from {{ governed_memory.relation('replays') }} as replays
left join followed on replays.replay_id = followed.replay_id
where followed.replay_id is null
qualify row_number() over (partition by replays.frame_id order by replays.recorded_at desc, replays.replay_id desc) = 1
