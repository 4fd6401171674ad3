{#- What could be done again and is not approved by that (M8, M14): traces of one skill that called the same tools in the same order, with as many
    successes, and as sure a rate of them, as the policy in force asks for. `clock` is SQL for the instant, which chooses the policy and nothing else. -#}
{% macro skill_candidates(clock) -%}
with

policies as ({{ governed_memory.policies_in_force(clock) }}),

evidence as (
    select *
    from {{ governed_memory.relation('skill_evidence') }}
    where is_counted
),

signatures as (
    select
        evidence.signature_fingerprint,
        any_value(evidence.skill) as skill,
        any_value(evidence.tools) as tools,
        count(*) as evidence_count,
        count(*) filter (where evidence.succeeded) as success_count,
        list_sort(list(evidence.trace_id)) as trace_ids,
        list_sort(list(evidence.trace_id) filter (where not evidence.succeeded)) as counter_example_ids,
        list_sort(list(distinct evidence.failure_reason) filter (where not evidence.succeeded and evidence.failure_reason is not null)) as limits,
        list_sort(list_distinct(flatten(list(evidence.source_ids)))) as source_ids,
        list_sort(list(distinct evidence.principal)) as proposers,
        {{ governed_memory.evidence_fingerprint('evidence', 'trace_id') }} as evidence_fingerprint
    from evidence
    group by evidence.signature_fingerprint
),

with_policy as (
    select
        signatures.*,
        policies.policy_version,
        policies.min_evidence,
        policies.min_rate_bound,
        {{ governed_memory.wilson_bound('signatures.success_count', 'signatures.evidence_count', 'policies.rate_z', '-') }} as rate_low,
        {{ governed_memory.wilson_bound('signatures.success_count', 'signatures.evidence_count', 'policies.rate_z', '+') }} as rate_high
    from signatures
    inner join policies on policies.kind = 'skill'
    where signatures.success_count >= policies.min_evidence
),

enough as (
    select *
    from with_policy
    where rate_low >= coalesce(min_rate_bound, 0)
),

-- What every success names is what it takes; what failures name and no success does may be what stands in the way
named_conditions as (
    select
        signature_fingerprint,
        condition,
        count(*) filter (where succeeded) as success_count
    from (
        select
            signature_fingerprint,
            succeeded,
            unnest(conditions) as condition
        from evidence
    )
    group by signature_fingerprint, condition
),

conditions as (
    select
        enough.signature_fingerprint,
        list(named.condition order by named.condition) filter (where named.success_count = enough.success_count) as success_conditions,
        list(named.condition order by named.condition) filter (where named.success_count = 0) as failure_conditions
    from enough
    inner join named_conditions as named on enough.signature_fingerprint = named.signature_fingerprint
    group by enough.signature_fingerprint
),

-- A trace binds what comes of it as a cell does; the letters keep the two apart where they have one name
bounding as (
    select
        'c' || cell_id as cell_id,
        confidence,
        classification,
        release_to,
        is_restricted
    from {{ governed_memory.relation('cells') }}
    union all
    select
        't' || trace_id as cell_id,
        confidence,
        classification,
        release_to,
        is_restricted
    from {{ governed_memory.relation('traces') }}
),

named_evidence as (
    select
        signature_fingerprint,
        'c' || unnest(source_ids) as cell_id
    from enough
    union all
    select
        signature_fingerprint,
        't' || unnest(trace_ids) as cell_id
    from enough
),

{{ governed_memory.bounds_of_evidence('named_evidence', 'signature_fingerprint', 'bounding') }},

verdicts as ({{ governed_memory.verdicts() }}),

proposals as ({{ governed_memory.proposed_by() }}),

fingerprinted as (
    select
        *,
        {{ governed_memory.candidate_fingerprint('signature_fingerprint', 'evidence_fingerprint') }} as candidate_fingerprint
    from enough
)

select
    found.candidate_fingerprint,
    found.signature_fingerprint,
    found.evidence_fingerprint,
    found.skill,
    found.tools,
    found.evidence_count,
    found.success_count,
    found.evidence_count - found.success_count as failure_count,
    round(found.success_count / found.evidence_count, 6) as success_rate,
    found.rate_low,
    found.rate_high,
    coalesce(conditions.success_conditions, []) as success_conditions,
    coalesce(conditions.failure_conditions, []) as failure_conditions,
    coalesce(found.limits, []) as limits,
    found.trace_ids,
    coalesce(found.counter_example_ids, []) as counter_example_ids,
    found.proposers,
    coalesce(proposals.proposed_by, []) as proposed_by,
    found.source_ids,
    bounds.confidence,
    bounds.classification,
    bounds.release_to,
    found.policy_version,
    found.min_evidence,
    found.min_rate_bound,
    {{ governed_memory.candidate_state('verdicts') }} as state
from fingerprinted as found
inner join bounds on found.signature_fingerprint = bounds.signature_fingerprint
left join conditions on found.signature_fingerprint = conditions.signature_fingerprint
left join verdicts on found.candidate_fingerprint = verdicts.candidate_fingerprint
left join proposals on {{ governed_memory.signature_mark('found.candidate_fingerprint') }} = proposals.signature_begins
{%- endmacro %}
