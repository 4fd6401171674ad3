-- What was approved of frames, as its cell and its approval have it
select
    cells.cell_id,
    cells.metadata ->> '$.candidate_fingerprint' as candidate_fingerprint,
    cells.metadata ->> '$.signature_fingerprint' as signature_fingerprint,
    cells.metadata ->> '$.family_fingerprint' as family_fingerprint,
    cells.metadata ->> '$.concept' as concept,
    cells.metadata ->> '$.signature.outcome' as outcome,
    approvals.approval_id,
    approvals.principal as approved_by,
    approvals.role,
    approvals.party,
    approvals.policy_version,
    approvals.valid_from,
    approvals.recorded_at as approved_at,
    revocations.approval_id as revocation_id,
    revocations.recorded_at as revoked_at,
    cells.confidence,
    cells.classification,
    cells.release_to
{{ governed_memory.from_what_was_learned('semantic') }}
