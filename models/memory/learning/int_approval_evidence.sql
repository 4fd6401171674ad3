-- The candidate that what each judged approval names makes: of a schema the frames, of a skill the traces, as held and not as the approval says
with

named as (
    select
        place,
        event ->> '$.principal' as approver,
        case when event ->> '$.kind' = 'schema' then from_json(event -> '$.frame_ids', '["VARCHAR"]') end as frame_ids,
        case when event ->> '$.kind' = 'skill' then from_json(event -> '$.trace_ids', '["VARCHAR"]') end as trace_ids
    from {{ governed_memory.relation('int_judged_approvals') }}
    where
        coalesce(json_type(event, '$.frame_ids'), 'ARRAY') = 'ARRAY'
        and coalesce(json_type(event, '$.trace_ids'), 'ARRAY') = 'ARRAY'
        -- who names what the kind does not ask for names no evidence
        and json_exists(event, '$.frame_ids') <> json_exists(event, '$.trace_ids')
),

frames_named as (
    select
        named.place,
        named.approver,
        frames.*,
        {{ governed_memory.frame_family('frames') }} as family_fingerprint
    from (select place, approver, unnest(frame_ids) as frame_id from named) as named
    left join {{ governed_memory.relation('frames') }} as frames on named.frame_id = frames.frame_id
),

frames_signed as (
    select
        *,
        {{ governed_memory.frame_signature('family_fingerprint', 'frames_named') }} as signature_fingerprint
    from frames_named
),

traces_signed as (
    select
        named.place,
        named.approver,
        traces.*,
        {{ governed_memory.trace_signature('traces') }} as signature_fingerprint
    from (select place, approver, unnest(trace_ids) as trace_id from named) as named
    left join {{ governed_memory.relation('traces') }} as traces on named.trace_id = traces.trace_id
)

{{ governed_memory.candidate_made('frames_signed', 'schema', 'frame_id') }}
union all
{{ governed_memory.candidate_made('traces_signed', 'skill', 'trace_id') }}
