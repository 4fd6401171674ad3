-- What was approved of traces, as its cell and its approval have it
select
    cells.cell_id,
    cells.metadata ->> '$.candidate_fingerprint' as candidate_fingerprint,
    cells.metadata ->> '$.signature_fingerprint' as signature_fingerprint,
    cells.metadata ->> '$.skill' as skill,
    from_json(cells.metadata -> '$.tools', '["VARCHAR"]') as tools,
    cast(cells.metadata ->> '$.success_count' as bigint) as success_count,
    cast(cells.metadata ->> '$.failure_count' as bigint) as failure_count,
    approvals.approval_id,
    approvals.principal as approved_by,
    approvals.role,
    approvals.party,
    approvals.policy_version,
    approvals.valid_from,
    approvals.recorded_at as approved_at,
    revocations.approval_id as revocation_id,
    revocations.recorded_at as revoked_at,
    cells.cell_id not in (select ended.cell_id from {{ governed_memory.relation('int_ended_skills') }} as ended) as is_current,
    cells.confidence,
    cells.classification,
    cells.release_to
{{ governed_memory.from_what_was_learned('procedural') }}
