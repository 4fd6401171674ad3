-- Schemas as records of a store, for `vars: stores:` to attach (docs/learning.md); a revocation is a withdrawal (T9)
with

approved as (
    select
        *,
        list(cell_id) over (
            partition by signature_fingerprint
            order by approved_at, approval_id
            rows between unbounded preceding and 1 preceding
        ) as earlier_ids
    from {{ governed_memory.relation('learned_schemas') }}
),

revoked as (
    select
        approved.*,
        revocations.valid_from as ends_on,
        revocations.reason,
        revocations.party as revoked_by_party,
        revocations.role as revoked_by_role
    from approved
    inner join {{ governed_memory.relation('approvals') }} as revocations on approved.revocation_id = revocations.approval_id
)

select
    cell_id as record_id,
    concept,
    outcome as value,
    valid_from,
    null::date as valid_to,
    party as concept_owner,
    role as owner_role,
    approval_id as source,
    coalesce(earlier_ids, []) as supersedes,
    null::varchar as withdrawal,
    classification,
    release_to,
    party as written_by,
    approved_at as recorded_at
from approved
union all
select
    revocation_id as record_id,
    concept,
    null::varchar as value,
    ends_on as valid_from,
    null::date as valid_to,
    revoked_by_party as concept_owner,
    revoked_by_role as owner_role,
    revocation_id as source,
    [cell_id] as supersedes,
    reason as withdrawal,
    classification,
    release_to,
    revoked_by_party as written_by,
    revoked_at as recorded_at
from revoked
