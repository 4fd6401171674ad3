-- The candidate that the frames named by each judged approval make, from the frames as held and not from what the approval says
with

named as (
    select
        place,
        unnest(from_json(event -> '$.frame_ids', '["VARCHAR"]')) as frame_id,
        event ->> '$.principal' as principal
    from {{ governed_memory.relation('int_judged_approvals') }}
    where json_type(event, '$.frame_ids') = 'ARRAY'
),

frames_named as (
    select
        named.place,
        named.principal as approver,
        frames.*,
        {{ governed_memory.frame_family('frames') }} as family_fingerprint
    from named
    left join {{ governed_memory.relation('frames') }} as frames on named.frame_id = frames.frame_id
),

signed as (
    select
        *,
        {{ governed_memory.frame_signature('family_fingerprint', 'frames_named') }} as signature_fingerprint
    from frames_named
),

made as (
    select
        signed.place,
        min(signed.signature_fingerprint) as signature_fingerprint,
        -- each frame is held, named once, and of that signature
        count(signed.frame_id) = count(*) and count(distinct signed.frame_id) = count(*) and count(distinct signed.signature_fingerprint) = 1
            as is_of_one_signature,
        {{ governed_memory.evidence_fingerprint('signed') }} as evidence_fingerprint,
        bool_or(signed.principal = signed.approver) as is_bound_by_approver
    from signed
    group by signed.place
)

select
    place,
    evidence_fingerprint,
    case
        when is_of_one_signature then {{ governed_memory.candidate_fingerprint('signature_fingerprint', 'evidence_fingerprint') }}
    end as candidate_fingerprint,
    is_bound_by_approver
from made
