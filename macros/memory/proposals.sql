{#- Whether a proposal lacks what a change of a record says. -#}
{% macro says_no_change(told) -%}
    {{ told }}.valid_from is null or coalesce(len({{ told }}.supersedes), 0) = 0
    {%- for field in ['store_id', 'concept', 'value'] %} or coalesce({{ governed_memory.is_blank(told ~ '.' ~ field) }}, true) {%- endfor -%}
{%- endmacro %}

{#- The proposals that a reader may see: as cells are read (M5, G5), and one to consolidate only with all its evidence. Who made it knows it. `evidence`
    is a clause as `lineage_evidence` makes it; other evidence of the same signature counts too, since a candidate that has grown since is still what
    was meant. -#}
{% macro readable_proposals(evidence, reader) -%}
    select proposals.*
    from {{ governed_memory.relation('proposals') }} as proposals
    left join (
        select
            {{ governed_memory.signature_mark('rests.candidate_fingerprint') }} as signature_begins,
            min({{ governed_memory.rest_is_readable(reader) }}) as is_readable
        from ({{ governed_memory.evidence_rests(evidence) }}) as rests
        left join {{ governed_memory.relation('cells') }} as cells on rests.cell_id = cells.cell_id
        left join {{ governed_memory.relation('traces') }} as traces on rests.trace_id = traces.trace_id
        group by signature_begins
    ) as signatures on {{ governed_memory.signature_mark('proposals.candidate_fingerprint') }} = signatures.signature_begins
    where
        {{ governed_memory.readable('proposals', reader) }}
        and (proposals.kind = 'record' or proposals.principal = {{ reader.principal }} or coalesce(signatures.is_readable, false))
{%- endmacro %}

{#- Who has proposed a candidate, by the mark of its signature. -#}
{% macro proposed_by() -%}
    select
        {{ governed_memory.signature_mark('candidate_fingerprint') }} as signature_begins,
        list_sort(list(distinct principal)) as proposed_by
    from {{ governed_memory.relation('proposals') }}
    where candidate_fingerprint is not null
    group by signature_begins
{%- endmacro %}

{#- What was proposed, as far as a reader may see it, with what became of it and the command that accepts it. A change of a record is settled in its
    store, which memory does not see: `proposal_items` does. -#}
{% macro proposals_read(clock, reader) -%}
with

schemas as materialized ({{ governed_memory.schema_candidates(clock) }}),

skills as materialized ({{ governed_memory.skill_candidates(clock) }}),

candidates as (
    select candidate_fingerprint from schemas
    union all
    select candidate_fingerprint from skills
),

evidence as materialized ({{ governed_memory.lineage_evidence('schemas', 'skills') }}),

verdicts as ({{ governed_memory.verdicts() }}),

seen as ({{ governed_memory.readable_proposals('evidence', reader) }})

select
    seen.* exclude (is_restricted, transition, fingerprint, writer, seq),
    case
        when seen.kind = 'record' then 'open'
        when verdicts.is_revoked then 'revoked'
        when verdicts.is_approved then 'approved'
        when verdicts.is_rejected then 'rejected'
        when candidates.candidate_fingerprint is null then 'outdated'
        else 'open'
    end as state,
    {{ governed_memory.accepting_command('seen') }} as command
from seen
left join verdicts on seen.candidate_fingerprint = verdicts.candidate_fingerprint
left join candidates on seen.candidate_fingerprint = candidates.candidate_fingerprint
order by seen.recorded_at, seen.proposal_id
{%- endmacro %}

{#- The command that makes a proposal so: what it says is filled in and quoted for a shell, what a person has to say stands in capitals. A text that
    does not fit on a line has to be put in by hand. -#}
{% macro accepting_command(proposals) -%}
    case {{ proposals }}.kind
        when 'consolidation' then
            'gmem approve ' || {{ governed_memory.shell_word(proposals ~ '.candidate_fingerprint') }}
            || ' --key=FILE --reason=WHY --principal=NAME --host=FILE'
        else
            'gmem supersede --store=' || {{ governed_memory.shell_word(proposals ~ '.store_id') }}
            || array_to_string(list_transform({{ proposals }}.supersedes, lambda name: ' --of=' || {{ governed_memory.shell_word('name') }}), '')
            || ' --id=NEW_ID --from=' || cast({{ proposals }}.valid_from as varchar)
            || ' --value=' || case
                when regexp_matches({{ proposals }}.value, '[[:cntrl:]]') then 'VALUE'
                else {{ governed_memory.shell_word(proposals ~ '.value') }}
            end
            || ' --source=' || {{ governed_memory.shell_word(proposals ~ '.proposal_id') }}
    end
{%- endmacro %}
