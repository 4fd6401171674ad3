{{ config(materialized='table') }}
with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_proposal_events'), 'proposal_id') }}
)

select
    proposal_id,
    kind,
    candidate_fingerprint,
    store_id,
    concept,
    value,
    valid_from,
    coalesce(supersedes, []) as supersedes,
    reason,
    classification,
    coalesce(release_to, []) as release_to,
    coalesce(trim(classification), '') <> '' or len(coalesce(release_to, [])) > 0 as is_restricted,
    principal,
    session_id,
    recorded_at,
    transition,
    fingerprint,
    writer,
    seq
from first_told
