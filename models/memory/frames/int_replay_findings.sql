-- What a replay of each frame finds now, and whether its last one found the same and left its links
with

linked as (
    select distinct
        from_cell_id as frame_id,
        to_cell_id as cell_id
    from {{ governed_memory.relation('links') }}
    where link_type = 'replay'
),

found as (
    select
        checks.frame_id,
        count(*) as steps,
        count(*) filter (where checks.is_verified) as verified_steps,
        min(checks.position) filter (where not checks.is_verified) as failed_position,
        arg_min(checks.cell_id, checks.position) filter (where not checks.is_verified) as failed_cell_id,
        arg_min(checks.problem, checks.position) filter (where not checks.is_verified) as reason,
        coalesce(list(checks.cell_id order by checks.position) filter (where checks.is_verified and linked.cell_id is null), []) as cells_to_link
    from {{ governed_memory.relation('int_step_checks') }} as checks
    left join linked on checks.frame_id = linked.frame_id and checks.cell_id = linked.cell_id
    group by checks.frame_id
)

select
    found.frame_id,
    found.steps,
    found.failed_position is null as is_complete,
    found.verified_steps,
    found.failed_position,
    found.failed_cell_id,
    found.reason,
    found.cells_to_link,
    latest.replay_id as follows,
    coalesce(
        latest.verified_steps = found.verified_steps
        and coalesce(latest.failed_position, 0) = coalesce(found.failed_position, 0)
        and coalesce(latest.reason, '') = coalesce(found.reason, '')
        and len(found.cells_to_link) = 0,
        false
    ) as is_known
from found
left join {{ governed_memory.relation('int_latest_replays') }} as latest on found.frame_id = latest.frame_id
