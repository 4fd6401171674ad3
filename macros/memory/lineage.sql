{#- The lineage of everything (M2): what each thing derives from. `candidates` is SQL for the candidates there are: a build has them as of its
    start, a reader as of theirs. -#}

{#- The frames and traces that candidates rest on, and until when a replay of them counts: as they are now, and of one that was settled, as they were
    then. -#}
{% macro lineage_evidence(schemas, skills) -%}
    {%- set verdicts = governed_memory.relation('approvals') -%}
    select
        candidate_fingerprint,
        frame_id,
        trace_id,
        min(settled_at) as settled_at
    from (
        {{ governed_memory.evidence_named(schemas, 'frame_ids', 'null::timestamp') }}
        union all
        {{ governed_memory.evidence_named(skills, 'trace_ids', 'null::timestamp') }}
        union all
        {{ governed_memory.evidence_named(verdicts, 'frame_ids', 'recorded_at', "verdict <> 'revoke'") }}
        union all
        {{ governed_memory.evidence_named(verdicts, 'trace_ids', 'recorded_at', "verdict <> 'revoke'") }}
    )
    group by candidate_fingerprint, frame_id, trace_id
{%- endmacro %}

{% macro evidence_named(naming, ids, settled_at, condition='true') -%}
    select
        candidate_fingerprint,
        {{ 'unnest(frame_ids)' if ids == 'frame_ids' else 'null' }} as frame_id,
        {{ 'unnest(trace_ids)' if ids == 'trace_ids' else 'null' }} as trace_id,
        {{ settled_at }} as settled_at
    from {{ naming }} as naming
    where {{ condition }}
{%- endmacro %}

{#- The cells and traces that candidates rest on: rows of candidate_fingerprint, cell_id, trace_id, one of the latter two null. -#}
{% macro evidence_rests(evidence) -%}
    select
        evidence.candidate_fingerprint,
        steps.cell_id,
        null as trace_id
    from {{ evidence }} as evidence
    left join {{ governed_memory.relation('frame_steps') }} as steps on evidence.frame_id = steps.frame_id
    where evidence.frame_id is not null
    union all
    select
        candidate_fingerprint,
        null as cell_id,
        trace_id
    from {{ evidence }}
    where trace_id is not null
    union all
    select
        evidence.candidate_fingerprint,
        unnest(traces.source_ids) as cell_id,
        null as trace_id
    from {{ evidence }} as evidence
    inner join {{ governed_memory.relation('traces') }} as traces on evidence.trace_id = traces.trace_id
{%- endmacro %}

{#- Whether what rests on a cell or a trace, joined to `rests` as `cells` and `traces`, may be read as far as that goes; what is not held may not. -#}
{% macro rest_is_readable(reader) -%}
    coalesce(
        case when rests.trace_id is null then {{ governed_memory.readable('cells', reader) }} else {{ governed_memory.readable('traces', reader) }} end,
        false
    )
{%- endmacro %}

{#- The replay that lets each frame count, or where there is none, nothing. -#}
{% macro lineage_replays(evidence) -%}
    select
        evidence.candidate_fingerprint,
        evidence.frame_id,
        replays.replay_id,
        coalesce(replays.recorded_at, frames.recorded_at) as recorded_at
    from (select * from {{ evidence }} where frame_id is not null) as evidence
    left join {{ governed_memory.relation('frames') }} as frames on evidence.frame_id = frames.frame_id
    left join {{ governed_memory.relation('replays') }} as replays
        on evidence.frame_id = replays.frame_id and replays.is_complete and replays.recorded_at <= coalesce(evidence.settled_at, replays.recorded_at)
    qualify row_number() over (
        partition by evidence.candidate_fingerprint, evidence.frame_id order by replays.recorded_at desc nulls last, replays.replay_id desc
    ) = 1
{%- endmacro %}

{#- The kinds of edges, a line each: what derives, from what, as which term of W3C PROV and as what of ours, when, and the rows that say so. What
    is built later adds lines here and to `lineage_rests`, and no other place. A principal or party is where a lineage ends; PROV
    has no word for a conflict, so that is the one for two that tell of one thing. -#}
{% macro lineage_kinds(evidence) -%}
    {%- set cells = governed_memory.relation('cells') -%}
    {%- set frames = governed_memory.relation('frames') -%}
    {%- set replays = governed_memory.relation('replays') -%}
    {%- set approvals = governed_memory.relation('approvals') -%}
    {%- set proposals = governed_memory.relation('proposals') -%}
    {%- set traces = governed_memory.relation('traces') -%}
    {%- set learned_fields = 'select cell_id, approval_id, approved_at, revocation_id, revoked_at from ' -%}
    {%- set learned = '(' ~ learned_fields ~ governed_memory.relation('learned_schemas') ~ ' union all ' ~ learned_fields
        ~ governed_memory.relation('learned_skills') ~ ')' -%}
    {%- set runs = '(select evidence.candidate_fingerprint, traces.* from ' ~ evidence ~ ' as evidence inner join ' ~ traces
        ~ ' as traces on evidence.trace_id = traces.trace_id)' -%}
    {%- set records = governed_memory.relation('memory_records') -%}
    {%- set conflicts = '(select from_cell_id, to_cell_id, recorded_at from ' ~ governed_memory.relation('links') ~ " where link_type = 'conflict')" -%}
    {%- set counted = '(' ~ governed_memory.lineage_replays(evidence) ~ ')' -%}
    {%- set verdicts = '(select * from ' ~ approvals ~ " where verdict <> 'revoke')" -%}
    {%- set revocations = '(select * from ' ~ approvals ~ " where verdict = 'revoke')" -%}
    {%- set withdrawals = '(select * from ' ~ records ~ ' where withdrawal is not null)' -%}
    {%- set of_schemas = '(select * from ' ~ records ~ ' where withdrawal is null)' -%}
    {%- set heard = '(select approvals.approval_id, proposals.proposal_id, approvals.recorded_at from ' ~ verdicts ~ ' as approvals inner join ' ~ proposals
        ~ ' as proposals on ' ~ governed_memory.same_signature('approvals.candidate_fingerprint', 'proposals.candidate_fingerprint')
        ~ ' and proposals.recorded_at <= approvals.recorded_at)' -%}
    {{- return([
        ['cell', 'cell_id', 'wasDerivedFrom', 'source', 'cell', 'source_id', 'recorded_at',
            '(select cell_id, unnest(source_ids) as source_id, recorded_at from ' ~ cells ~ ')'],
        ['cell', 'cell_id', 'wasAttributedTo', 'author', 'principal', 'principal', 'recorded_at',
            '(select * from ' ~ cells ~ ' where approval_id is null)'],
        ['cell', 'from_cell_id', 'alternateOf', 'conflict', 'cell', 'to_cell_id', 'recorded_at', conflicts],
        ['cell', 'to_cell_id', 'alternateOf', 'conflict', 'cell', 'from_cell_id', 'recorded_at', conflicts],
        ['frame', 'frame_id', 'wasDerivedFrom', 'step', 'cell', 'cell_id', 'recorded_at',
            '(select frame_id, cell_id, recorded_at from ' ~ frames ~ ' inner join ' ~ governed_memory.relation('frame_steps') ~ ' using (frame_id))'],
        ['frame', 'frame_id', 'wasAttributedTo', 'author', 'principal', 'principal', 'recorded_at', frames],
        ['replay', 'replay_id', 'wasDerivedFrom', 'frame', 'frame', 'frame_id', 'recorded_at', replays],
        ['replay', 'replay_id', 'wasAttributedTo', 'author', 'principal', 'principal', 'recorded_at', replays],
        ['candidate', 'candidate_fingerprint', 'wasDerivedFrom', 'evidence', 'replay', 'replay_id', 'recorded_at',
            '(select * from ' ~ counted ~ ' where replay_id is not null)'],
        ['candidate', 'candidate_fingerprint', 'wasDerivedFrom', 'evidence', 'frame', 'frame_id', 'recorded_at',
            '(select * from ' ~ counted ~ ' where replay_id is null)'],
        ['trace', 'trace_id', 'wasDerivedFrom', 'source', 'cell', 'source_id', 'recorded_at',
            '(select trace_id, unnest(source_ids) as source_id, recorded_at from ' ~ traces ~ ')'],
        ['trace', 'trace_id', 'wasAttributedTo', 'author', 'principal', 'principal', 'recorded_at', traces],
        ['candidate', 'candidate_fingerprint', 'wasDerivedFrom', 'success', 'trace', 'trace_id', 'recorded_at',
            '(select * from ' ~ runs ~ ' where succeeded)'],
        ['candidate', 'candidate_fingerprint', 'wasDerivedFrom', 'failure', 'trace', 'trace_id', 'recorded_at',
            '(select * from ' ~ runs ~ ' where not succeeded)'],
        ['proposal', 'proposal_id', 'wasDerivedFrom', 'subject', 'candidate', 'candidate_fingerprint', 'recorded_at',
            '(select * from ' ~ proposals ~ ' where candidate_fingerprint is not null)'],
        ['proposal', 'proposal_id', 'wasAttributedTo', 'author', 'principal', 'principal', 'recorded_at', proposals],
        ['approval', 'approval_id', 'used', 'candidate', 'candidate', 'candidate_fingerprint', 'recorded_at', verdicts],
        ['approval', 'approval_id', 'used', 'proposal', 'proposal', 'proposal_id', 'recorded_at', heard],
        ['approval', 'approval_id', 'used', 'revoked', 'cell', 'cell_id', 'recorded_at', revocations],
        ['approval', 'approval_id', 'wasAssociatedWith', 'approver', 'principal', 'principal', 'recorded_at', approvals],
        ['cell', 'cell_id', 'wasGeneratedBy', 'approval', 'approval', 'approval_id', 'approved_at', learned],
        ['cell', 'cell_id', 'wasInvalidatedBy', 'revocation', 'approval', 'revocation_id', 'revoked_at',
            '(select * from ' ~ learned ~ ' where revocation_id is not null)'],
        ['record', 'record_id', 'wasDerivedFrom', 'schema', 'cell', 'record_id', 'recorded_at', of_schemas],
        ['record', 'record_id', 'wasGeneratedBy', 'revocation', 'approval', 'record_id', 'recorded_at', withdrawals],
        ['record', 'record_id', 'wasDerivedFrom', 'supersedes', 'record', 'superseded_id', 'recorded_at',
            '(select record_id, unnest(supersedes) as superseded_id, recorded_at from ' ~ records ~ ')'],
        ['record', 'record_id', 'wasAttributedTo', 'owner', 'party', 'concept_owner', 'recorded_at', records],
    ]) -}}
{%- endmacro %}

{#- The edges: one row per derivation. -#}
{% macro lineage_edges(evidence) -%}
    {%- for from_kind, from_id, relation, role, to_kind, to_id, at, rows in governed_memory.lineage_kinds(evidence) %}
    select
        '{{ from_kind }}' as from_kind,
        {{ from_id }} as from_id,
        '{{ relation }}' as relation,
        '{{ role }}' as role,
        '{{ to_kind }}' as to_kind,
        {{ to_id }} as to_id,
        {{ at }} as recorded_at
    from {{ rows }} as told
    {% if not loop.last %}union{% endif %}
    {%- endfor %}
{%- endmacro %}

{#- Each thing that has a lineage, what it is in a word, and the cells and traces that it rests on: who may read all of those may read it. -#}
{% macro lineage_rests(evidence) -%}
    select
        'cell' as kind,
        cell_id as id,
        system as what,
        cell_id,
        null as trace_id
    from {{ governed_memory.relation('cells') }}
    union all
    select
        'frame' as kind,
        frame_id as id,
        null as what,
        cell_id,
        null as trace_id
    from {{ governed_memory.relation('frame_steps') }}
    union all
    select
        'replay' as kind,
        replays.replay_id as id,
        case when replays.is_complete then 'complete' else 'incomplete' end as what,
        steps.cell_id,
        null as trace_id
    from {{ governed_memory.relation('replays') }} as replays
    left join {{ governed_memory.relation('frame_steps') }} as steps on replays.frame_id = steps.frame_id
    union all
    select
        'trace' as kind,
        trace_id as id,
        case when succeeded then 'succeeded' else 'failed' end as what,
        null as cell_id,
        trace_id
    from {{ governed_memory.relation('traces') }}
    union all
    select
        'candidate' as kind,
        candidate_fingerprint as id,
        null as what,
        cell_id,
        trace_id
    from ({{ governed_memory.evidence_rests(evidence) }})
    union all
    -- an approval and a revocation are read with what they made or ended, a rejection with its candidate
    select
        'approval' as kind,
        approvals.approval_id as id,
        approvals.verdict as what,
        coalesce(approvals.cell_id, rests.cell_id) as cell_id,
        rests.trace_id
    from {{ governed_memory.relation('approvals') }} as approvals
    left join ({{ governed_memory.evidence_rests(evidence) }}) as rests
        on approvals.cell_id is null and approvals.candidate_fingerprint = rests.candidate_fingerprint
    union all
    select
        'record' as kind,
        record_id as id,
        case when withdrawal is not null then 'withdrawal' end as what,
        case when withdrawal is not null then supersedes[1] else record_id end as cell_id,
        null as trace_id
    from {{ governed_memory.relation('memory_records') }}
{%- endmacro %}

{#- The lineage of what is called `id`, as far as a reader may see it (G5, G7): a row for each thing, with its edges, how many steps it is from there,
    and how much was left out: `withheld` is how many things that what is shown derives from the reader may not read, or are not held; nothing behind
    those is looked at. `further` is how many lie more than `most_steps` away, or behind the nearest `most_things`. Each thing comes once, so that a circle ends; a conflict is shown and
    not followed. -#}
{% macro lineage_walk(id, clock, reader, most_steps, most_things) -%}
with recursive

schemas as materialized ({{ governed_memory.schema_candidates(clock) }}),

skills as materialized ({{ governed_memory.skill_candidates(clock) }}),

evidence as materialized ({{ governed_memory.lineage_evidence('schemas', 'skills') }}),

edges as materialized ({{ governed_memory.lineage_edges('evidence') }}),

things as materialized (
    select
        rests.kind,
        rests.id,
        rests.what
    from ({{ governed_memory.lineage_rests('evidence') }}) as rests
    left join {{ governed_memory.relation('cells') }} as cells on rests.cell_id = cells.cell_id
    left join {{ governed_memory.relation('traces') }} as traces on rests.trace_id = traces.trace_id
    group by rests.kind, rests.id, rests.what
    having min({{ governed_memory.rest_is_readable(reader) }})
    union all
    select
        'proposal' as kind,
        proposal_id as id,
        kind as what
    from ({{ governed_memory.readable_proposals('evidence', reader) }})
),

ways as materialized (
    select
        edges.*,
        edges.role <> 'conflict' as is_followed,
        edges.to_kind in ('principal', 'party') or things.id is not null as is_readable
    from edges
    left join things on edges.to_kind = things.kind and edges.to_id = things.id
),

walked as (
    select
        kind,
        id,
        0 as steps,
        true as is_followed
    from things
    where id = {{ id }}
    union
    select
        ways.to_kind as kind,
        ways.to_id as id,
        walked.steps + 1 as steps,
        ways.is_followed
    from walked
    inner join ways on walked.kind = ways.from_kind and walked.id = ways.from_id
    where walked.is_followed and ways.is_readable and walked.steps < {{ most_steps }}
),

reached as (
    select
        kind,
        id,
        min(steps) as steps,
        max(is_followed) as is_followed
    from walked
    group by kind, id
    order by min(steps), kind, id
    limit {{ most_things }}
),

left_from as (
    select
        ways.*,
        reached_to.id is not null as is_reached
    from reached
    inner join ways on reached.kind = ways.from_kind and reached.id = ways.from_id
    left join reached as reached_to on ways.to_kind = reached_to.kind and ways.to_id = reached_to.id
    where reached.is_followed
),

drawn as (
    select
        from_kind,
        from_id,
        list({'relation': relation, 'role': role, 'kind': to_kind, 'id': to_id, 'at': recorded_at} order by role, to_kind, to_id, recorded_at) as edges
    from left_from
    where is_readable and is_reached
    group by from_kind, from_id
),

left_out as (
    select
        count(*) filter (where not is_readable) as withheld,
        count(*) filter (where is_readable and not is_reached) as further
    from (select distinct to_kind, to_id, is_readable, is_reached from left_from)
)

select
    reached.kind,
    reached.id,
    reached.steps,
    things.what,
    coalesce(drawn.edges, []) as edges,
    left_out.withheld,
    left_out.further
from reached
cross join left_out
left join things on reached.kind = things.kind and reached.id = things.id
left join drawn on reached.kind = drawn.from_kind and reached.id = drawn.from_id
order by reached.steps, reached.kind, reached.id
{%- endmacro %}
