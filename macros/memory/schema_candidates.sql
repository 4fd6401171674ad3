{#- What could be learned and is not approved by that (M6, M7, M14): frames of one signature, replayed step for step, at least as many as the policy in
    force asks for. `clock` is SQL for the instant, which chooses the policy and nothing else. -#}
{% macro schema_candidates(clock) -%}
with

policies as ({{ governed_memory.policies_in_force(clock) }}),

evidence as (
    select *
    from {{ governed_memory.relation('schema_evidence') }}
    where is_counted
),

signatures as (
    select
        evidence.signature_fingerprint,
        any_value(evidence.family_fingerprint) as family_fingerprint,
        any_value(evidence.scene) as scene,
        any_value(evidence.entities) as entities,
        any_value(evidence.goal) as goal,
        any_value(evidence.action) as action,
        any_value(evidence.outcome) as outcome,
        count(*) as evidence_count,
        list_sort(list(evidence.frame_id)) as frame_ids,
        flatten(list(evidence.cell_ids)) as cell_ids,
        list_sort(list(distinct evidence.principal)) as proposers,
        {{ governed_memory.evidence_fingerprint('evidence') }} as evidence_fingerprint
    from evidence
    group by evidence.signature_fingerprint
),

with_policy as (
    select
        signatures.*,
        -- joined by, where it is not told: shorter than a hash
        row_number() over () as signature_number,
        policies.policy_version,
        policies.min_evidence
    from signatures
    inner join policies on policies.kind = 'schema'
    where signatures.evidence_count >= policies.min_evidence
),

-- The same situation with another outcome, as far as it counts as evidence
opposing as (
    select
        with_policy.signature_fingerprint,
        list(evidence.frame_id order by evidence.frame_id) as opposing_frame_ids
    from with_policy
    inner join evidence
        on with_policy.family_fingerprint = evidence.family_fingerprint and with_policy.signature_fingerprint <> evidence.signature_fingerprint
    group by with_policy.signature_fingerprint
),

source_cells as (
    select
        signature_number,
        unnest(list_distinct(cell_ids)) as cell_id
    from with_policy
),

{{ governed_memory.bounds_of_evidence('source_cells', 'signature_number') }},

verdicts as ({{ governed_memory.verdicts() }}),

proposals as ({{ governed_memory.proposed_by() }}),

named as (
    select
        *,
        {{ governed_memory.candidate_fingerprint('signature_fingerprint', 'evidence_fingerprint') }} as candidate_fingerprint,
        {{ governed_memory.concept_name('with_policy') }} as concept
    from with_policy
)

select
    named.candidate_fingerprint,
    named.signature_fingerprint,
    named.family_fingerprint,
    named.evidence_fingerprint,
    named.scene,
    named.entities,
    named.goal,
    named.action,
    named.outcome,
    named.concept,
    named.evidence_count,
    named.frame_ids,
    coalesce(opposing.opposing_frame_ids, []) as opposing_frame_ids,
    named.proposers,
    coalesce(proposals.proposed_by, []) as proposed_by,
    bounds.source_ids,
    bounds.confidence,
    bounds.classification,
    bounds.release_to,
    named.policy_version,
    named.min_evidence,
    {{ governed_memory.candidate_state('verdicts') }} as state
from named
inner join bounds on named.signature_number = bounds.signature_number
left join opposing on named.signature_fingerprint = opposing.signature_fingerprint
left join verdicts on named.candidate_fingerprint = verdicts.candidate_fingerprint
left join proposals on {{ governed_memory.signature_mark('named.candidate_fingerprint') }} = proposals.signature_begins
{%- endmacro %}
