with

{{ governed_memory.judged_events('approvals') }},

-- The policy in force when it was said, and whom that names
policies as (
    select
        judged.place,
        policies.policy_version,
        policies.separates_duties,
        policies.approval_hours
    from judged
    inner join {{ governed_memory.relation('consolidation_policies') }} as policies
        on judged.kind = policies.kind and policies.valid_from <= cast(judged.approved_at as date)
    qualify row_number() over (partition by judged.place order by policies.valid_from desc, policies.policy_version desc) = 1
),

allowed as (
    select distinct judged.place
    from judged
    inner join {{ governed_memory.relation('approver_roles') }} as roles
        on judged.policy_version = roles.policy_version and judged.kind = roles.kind and judged.role = roles.role
    where
        coalesce(roles.party, judged.party) = judged.party
        and cast(judged.approved_at as date) between roles.valid_from and coalesce(roles.valid_to, date '9999-12-31')
),

-- A candidate with the same signature and other evidence than was said
renewed as (
    select distinct judged.place
    from judged
    inner join {{ governed_memory.relation('int_offered_candidates') }} as offered
        on {{ governed_memory.same_signature('judged.candidate_fingerprint', 'offered.candidate_fingerprint') }}
    where offered.is_current
),

-- Who has proposed it before, on this evidence or other
proposed as (
    select distinct judged.place
    from judged
    inner join {{ governed_memory.relation('proposals') }} as proposals
        on judged.principal = proposals.principal and judged.recorded_at >= proposals.recorded_at
        and {{ governed_memory.same_signature('judged.candidate_fingerprint', 'proposals.candidate_fingerprint') }}
),

standings as (
    select
        judged.place,
        -- who names no evidence of a candidate that there is leaves out who proposed it, too
        (coalesce(offered.is_current, false) or coalesce(len(judged.frame_ids), 0) + coalesce(len(judged.trace_ids), 0) > 0)
        and coalesce(evidence.candidate_fingerprint <> judged.candidate_fingerprint, true) as is_made_otherwise,
        coalesce(evidence.is_proposed_by_approver, false) or proposed.place is not null as is_proposer,
        coalesce(offered.is_current, false) as is_current,
        coalesce(offered.is_approved, false) as is_approved,
        coalesce(offered.is_rejected, false) as is_rejected,
        coalesce(offered.is_revoked, false) as is_revoked,
        renewed.place is not null as is_renewed
    from judged
    left join {{ governed_memory.relation('int_approval_evidence') }} as evidence on judged.place = evidence.place
    left join {{ governed_memory.relation('int_offered_candidates') }} as offered on judged.candidate_fingerprint = offered.candidate_fingerprint
    left join renewed on judged.place = renewed.place
    left join proposed on judged.place = proposed.place
),

conditions as (
    select
        judged.place,
        judged.approval_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'event_too_long': governed_memory.is_too_long(),
            'field_unknown': 'judged.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field or judged.valid_from is not null and try_cast(judged.valid_from as date) is null',
            'reason_missing': "coalesce(trim(judged.reason), '') = ''",
            'signature_invalid': 'not coalesce(judged.is_signed, false)',
            'fingerprint_mismatch': 'standings.is_made_otherwise',
            'evidence_changed': 'held.held_id is null and not standings.is_made_otherwise and not standings.is_current and standings.is_renewed',
            'candidate_unknown': 'held.held_id is null and not standings.is_made_otherwise and not standings.is_current and not standings.is_renewed',
            'cell_unknown': 'cells.held_id is null',
            'not_learned': 'owners.cell_id is null',
            'owner_elsewhere': 'owners.party_id is distinct from judged.party',
            'policy_not_in_force': 'policies.policy_version is distinct from judged.policy_version',
            'role_not_allowed': 'allowed.place is null',
            'approval_expired': 'not coalesce(judged.recorded_at between judged.approved_at and judged.approved_at + to_hours(policies.approval_hours), false)',
            'proposer_approves': 'policies.separates_duties and standings.is_proposer',
            'candidate_rejected': 'standings.is_rejected',
            'candidate_approved': 'standings.is_approved',
            'candidate_revoked': 'standings.is_revoked',
            'identity_conflict': governed_memory.identity_conflict('approval_id')
        }) }} as codes
    from judged
    left join policies on judged.place = policies.place
    left join allowed on judged.place = allowed.place
    left join standings on judged.place = standings.place
    left join {{ governed_memory.relation('int_held') }} as cells on judged.cell_id = cells.held_id and cells.stream = 'cells'
    left join {{ governed_memory.relation('int_learned_owners') }} as owners on judged.cell_id = owners.cell_id and judged.kind = owners.kind
    left join {{ governed_memory.relation('int_held') }} as held on judged.approval_id = held.held_id and held.stream = 'approvals'
)

{{ governed_memory.refusals_of('conditions') }}
