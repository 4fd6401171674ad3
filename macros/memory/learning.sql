{#- What consolidation compares frames by (M6, M7). A signature is what a frame says happened: scene, entities, goal, action and outcome; a
    family is the same without the outcome, so that two signatures of one family with other outcomes are opposite. Hashes of JSON, so that no
    text can pass for two. -#}
{% macro frame_family(frames) -%}
    sha256(to_json({
        'kind': 'schema', 'scene': {{ frames }}.scene, 'entities': list_sort(list_distinct({{ frames }}.entities)), 'goal': {{ frames }}.goal,
        'action': {{ frames }}.action
    })::varchar)
{%- endmacro %}

{% macro frame_signature(family, frames) -%}
    sha256(to_json([{{ family }}, {{ frames }}.outcome])::varchar)
{%- endmacro %}

{#- The fingerprint of evidence, as an aggregate over frames or traces: which they are, whatever order they came in. A frame's own fingerprint holds
    those of its cells, so a change of any of it is another one. -#}
{% macro evidence_fingerprint(evidence, key='frame_id') -%}
    sha256(to_json(list_sort(list({'{{ key }}': {{ evidence }}.{{ key }}, 'fingerprint': {{ evidence }}.fingerprint})))::varchar)
{%- endmacro %}

{#- What the frames or traces that approvals name make: rows of place, approver, signature_fingerprint, and of what is held its key, fingerprint
    and principal. A candidate only where each is held, named once, and all are of one signature. -#}
{% macro candidate_made(named, kind, key) -%}
    select
        place,
        '{{ kind }}' as kind,
        {{ governed_memory.evidence_fingerprint(named, key) }} as evidence_fingerprint,
        case
            when count({{ key }}) = count(*) and count(distinct {{ key }}) = count(*) and count(distinct signature_fingerprint) = 1
                then {{ governed_memory.candidate_fingerprint('min(signature_fingerprint)', governed_memory.evidence_fingerprint(named, key)) }}
        end as candidate_fingerprint,
        bool_or(principal = approver) as is_proposed_by_approver
    from {{ named }}
    group by place
{%- endmacro %}

{#- A candidate's fingerprint begins with its signature's, so that who comes with an old one can be told that the evidence has changed. -#}
{% macro candidate_fingerprint(signature, evidence) -%}
    left({{ signature }}, 32) || left(sha256({{ signature }} || {{ evidence }}), 32)
{%- endmacro %}

{% macro same_signature(one, other) -%}
    {{ governed_memory.signature_mark(one) }} = {{ governed_memory.signature_mark(other) }}
{%- endmacro %}

{% macro signature_mark(candidate) -%}
    left({{ candidate }}, 32)
{%- endmacro %}

{#- What a family is called. A mark inside of a text is doubled, so that no two families have one name. -#}
{% macro concept_name(frames) -%}
    array_to_string([
        replace({{ frames }}.scene, '|', '||'), replace({{ frames }}.goal, '|', '||'), replace({{ frames }}.action, '|', '||'),
        replace(array_to_string(list_transform({{ frames }}.entities, lambda entity: replace(entity, ',', ',,')), ', '), '|', '||')
    ], ' | ')
{%- endmacro %}

{#- A cell that stands as a record in the model memory_records is read there, by its rules, and not recalled beside it. -#}
{% macro has_record(cells) -%}
    ({{ governed_memory.was_learned(cells) }} and {{ cells }}.system = 'semantic')
{%- endmacro %}

{% macro was_learned(cells) -%}
    coalesce({{ cells }}.approval_id, '') <> ''
{%- endmacro %}

{#- Cells that approvals made, as their approvals, and their revocations, if any, have them: what follows the columns of a select. -#}
{% macro from_what_was_learned(system) -%}
from {{ governed_memory.relation('cells') }} as cells
inner join {{ governed_memory.relation('approvals') }} as approvals on cells.approval_id = approvals.approval_id
left join {{ governed_memory.relation('approvals') }} as revocations on cells.cell_id = revocations.cell_id and revocations.verdict = 'revoke'
where {{ governed_memory.was_learned('cells') }} and cells.system = '{{ system }}'
{%- endmacro %}

{#- The policies in force at an instant. -#}
{% macro policies_in_force(clock) -%}
    select *
    from {{ governed_memory.relation('consolidation_policies') }}
    where valid_from <= cast({{ clock }} as date)
    qualify row_number() over (partition by kind order by valid_from desc, policy_version desc) = 1
{%- endmacro %}

{#- Pairs of approved schemas of one family with other outcomes that no link joins yet; `given` is SQL for schemas that are being approved, if any. -#}
{% macro opposite_schemas(given=none) -%}
with

standing as (
    select
        cell_id,
        family_fingerprint,
        outcome,
        policy_version
    from {{ governed_memory.relation('learned_schemas') }}
    where revocation_id is null
    {%- if given %}
    union
    {{ given }}
    {%- endif %}
)

select
    ones.cell_id as from_cell_id,
    others.cell_id as to_cell_id,
    greatest(ones.policy_version, others.policy_version) as policy_version,
    policies.opposites
from standing as ones
inner join standing as others
    on ones.family_fingerprint = others.family_fingerprint and ones.outcome <> others.outcome and ones.cell_id < others.cell_id
left join {{ governed_memory.relation('consolidation_policies') }} as policies
    on policies.kind = 'schema' and policies.policy_version = greatest(ones.policy_version, others.policy_version)
left join {{ governed_memory.relation('links') }} as links
    on links.link_type = 'conflict' and ones.cell_id = links.from_cell_id and others.cell_id = links.to_cell_id
where links.link_id is null
{%- endmacro %}

{#- The candidates whose every cell a reader may read (M5, M14), and of skills every trace. -#}
{% macro candidates_read(clock, reader) -%}
with

candidates as ({{ governed_memory.schema_candidates(clock) }}),

withheld as (
    {{ governed_memory.candidates_withheld('source_ids', 'cells', 'cell_id', reader) }}
)

select candidates.*
from candidates
left join withheld on candidates.candidate_fingerprint = withheld.candidate_fingerprint
where withheld.candidate_fingerprint is null
{%- endmacro %}

{% macro skill_candidates_read(clock, reader) -%}
with

candidates as ({{ governed_memory.skill_candidates(clock) }}),

withheld as (
    {{ governed_memory.candidates_withheld('source_ids', 'cells', 'cell_id', reader) }}
    union
    {{ governed_memory.candidates_withheld('trace_ids', 'traces', 'trace_id', reader) }}
)

select candidates.*
from candidates
left join withheld on candidates.candidate_fingerprint = withheld.candidate_fingerprint
where withheld.candidate_fingerprint is null
{%- endmacro %}

{% macro candidates_withheld(ids, evidence, key, reader) -%}
    select distinct named.candidate_fingerprint
    from (
        select
            candidate_fingerprint,
            unnest({{ ids }}) as {{ key }}
        from candidates
    ) as named
    inner join {{ governed_memory.relation(evidence) }} as {{ evidence }} on named.{{ key }} = {{ evidence }}.{{ key }}
    where not coalesce({{ governed_memory.readable(evidence, reader) }}, false)
{%- endmacro %}

{#- What an approval may be given to, of the candidates that `candidates` holds, with what became of these and of former ones. -#}
{% macro offered_candidates(candidates) -%}
select
    coalesce(found.candidate_fingerprint, said.candidate_fingerprint) as candidate_fingerprint,
    found.kind,
    found.candidate_fingerprint is not null as is_current,
    coalesce(said.is_approved, false) as is_approved,
    coalesce(said.is_rejected, false) as is_rejected,
    coalesce(said.is_revoked, false) as is_revoked
from {{ candidates }} as found
full join ({{ governed_memory.verdicts() }}) as said on found.candidate_fingerprint = said.candidate_fingerprint
{%- endmacro %}

{#- What became of a candidate. -#}
{% macro candidate_state(verdicts) -%}
    case
        when {{ verdicts }}.is_revoked then 'revoked'
        when {{ verdicts }}.is_approved then 'approved'
        when {{ verdicts }}.is_rejected then 'rejected'
        else 'open'
    end
{%- endmacro %}

{#- What was said of each candidate. Each of the two refuses the other that comes later, so where there are both, they were said at once: then the
    approval counts, since its cell may have been read, and whoever rejected can revoke it. -#}
{% macro verdicts() -%}
    select
        candidate_fingerprint,
        bool_or(verdict = 'approve') as is_approved,
        bool_or(verdict = 'reject') and not bool_or(verdict = 'approve') as is_rejected,
        bool_or(verdict = 'revoke') as is_revoked
    from {{ governed_memory.relation('approvals') }}
    where candidate_fingerprint is not null
    group by candidate_fingerprint
{%- endmacro %}
