{{ config(materialized='table') }}
with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_approval_events'), 'approval_id') }}
)

select
    approval_id,
    verdict,
    kind,
    cell_id,
    candidate_fingerprint,
    evidence_fingerprint,
    coalesce(frame_ids, []) as frame_ids,
    coalesce(trace_ids, []) as trace_ids,
    role,
    party,
    policy_version,
    reason,
    approved_at,
    coalesce(try_cast(valid_from as date), cast(approved_at as date)) as valid_from,
    signature,
    is_signed,
    principal,
    session_id,
    recorded_at,
    transition,
    fingerprint,
    writer,
    seq
from first_told
