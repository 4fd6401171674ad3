-- Each frame with its signature, and where it does not count as evidence, why (M6)
with

families as (
    select
        frames.frame_id,
        frames.fingerprint,
        frames.scene,
        list_sort(list_distinct(frames.entities)) as entities,
        frames.goal,
        frames.action,
        frames.outcome,
        frames.principal,
        frames.session_id,
        frames.recorded_at,
        {{ governed_memory.frame_family('frames') }} as family_fingerprint,
        frames.steps,
        states.state
    from {{ governed_memory.relation('frames') }} as frames
    inner join {{ governed_memory.relation('frame_states') }} as states on frames.frame_id = states.frame_id
),

signatures as (
    select
        *,
        {{ governed_memory.frame_signature('family_fingerprint', 'families') }} as signature_fingerprint
    from families
),

occurrences as (
    select
        *,
        list_sort(list_transform(steps, lambda step: struct_extract(step, 'cell_id'))) as cell_ids
    from signatures
),

reasoned as (
    select
        *,
        case
            when state = 'not_replayed' then 'replay_missing'
            when state <> 'complete' then 'replay_failed'
            -- one occurrence, bound twice, is one
            when row_number() over (partition by signature_fingerprint, state, cell_ids order by frame_id) > 1 then 'repeats_evidence'
        end as reason
    from occurrences
)

select
    frame_id,
    signature_fingerprint,
    family_fingerprint,
    scene,
    entities,
    goal,
    action,
    outcome,
    fingerprint,
    principal,
    session_id,
    recorded_at,
    reason is null as is_counted,
    reason
from reasoned
