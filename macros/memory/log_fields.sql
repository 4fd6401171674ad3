{#- The fields of each stream's events with their types, in their order: the one place that lists them. recorded_at, principal, session_id and
    transition are in every event; who wrote it and when is said by the log, never by the one who writes. -#}
{% macro log_fields(stream) -%}
    {%- set told = {
        'cells': {
            'cell_id': 'varchar', 'system': 'varchar', 'content': 'varchar', 'summary': 'varchar', 'source': 'varchar', 'source_ids': 'varchar[]',
            'confidence': 'double', 'importance': 'double', 'event_index': 'bigint', 'created_at': 'timestamp', 'ttl_seconds': 'double',
            'expires_at': 'timestamp', 'metadata': 'json', 'classification': 'varchar', 'release_to': 'varchar[]', 'approval_id': 'varchar',
            'terms': 'varchar', 'fingerprint': 'varchar'
        },
        'links': {
            'link_id': 'varchar', 'from_cell_id': 'varchar', 'to_cell_id': 'varchar', 'link_type': 'varchar', 'weight': 'double', 'reason': 'varchar',
            'source_ids': 'varchar[]', 'fingerprint': 'varchar'
        },
        'annotations': {
            'annotation_id': 'varchar', 'target_id': 'varchar', 'kind': 'varchar', 'reason': 'varchar', 'half_life_seconds': 'double',
            'effective_at': 'timestamp', 'fingerprint': 'varchar'
        },
        'frames': {
            'frame_id': 'varchar', 'scene': 'varchar', 'entities': 'varchar[]', 'goal': 'varchar', 'action': 'varchar', 'outcome': 'varchar',
            'cues': 'varchar[]', 'starts_at': 'timestamp', 'ends_at': 'timestamp', 'order_from': 'varchar',
            'steps': 'struct("position" bigint, cell_id varchar, cell_fingerprint varchar)[]', 'fingerprint': 'varchar'
        },
        'replays': {
            'replay_id': 'varchar', 'frame_id': 'varchar', 'is_complete': 'boolean', 'verified_steps': 'bigint', 'failed_position': 'bigint',
            'reason': 'varchar', 'follows': 'varchar', 'fingerprint': 'varchar'
        },
        'traces': {
            'trace_id': 'varchar', 'skill': 'varchar', 'conditions': 'varchar[]', 'planned_tools': 'varchar[]',
            'steps': 'struct(tool varchar, inputs_hash varchar, result_hash varchar, succeeded boolean)[]', 'succeeded': 'boolean',
            'failure_reason': 'varchar', 'model_output': 'varchar', 'executor': 'varchar', 'ended_at': 'timestamp', 'source_ids': 'varchar[]',
            'confidence': 'double', 'classification': 'varchar', 'release_to': 'varchar[]', 'fingerprint': 'varchar'
        },
        'approvals': {
            'approval_id': 'varchar', 'verdict': 'varchar', 'kind': 'varchar', 'cell_id': 'varchar', 'candidate_fingerprint': 'varchar',
            'evidence_fingerprint': 'varchar', 'frame_ids': 'varchar[]', 'trace_ids': 'varchar[]', 'role': 'varchar', 'party': 'varchar',
            'policy_version': 'varchar', 'reason': 'varchar', 'approved_at': 'timestamp', 'valid_from': 'varchar', 'signature': 'varchar',
            'is_signed': 'boolean', 'fingerprint': 'varchar'
        },
        'proposals': {
            'proposal_id': 'varchar', 'kind': 'varchar', 'candidate_fingerprint': 'varchar', 'store_id': 'varchar', 'concept': 'varchar',
            'value': 'varchar', 'valid_from': 'date', 'supersedes': 'varchar[]', 'reason': 'varchar', 'classification': 'varchar',
            'release_to': 'varchar[]', 'fingerprint': 'varchar'
        },
        'decisions': {
            'decision_id': 'varchar', 'kind': 'varchar', 'policy_version': 'varchar', 'outcome': 'varchar', 'subject_ids': 'varchar[]',
            'link_id': 'varchar'
        },
        'reads': {
            'read_kind': 'varchar', 'query': 'varchar', 'outcome': 'varchar', 'found_ids': 'varchar[]', 'is_global': 'boolean', 'on_date': 'date',
            'asked_at': 'timestamp'
        },
        'refusals': {
            'stream': 'varchar', 'target_id': 'varchar', 'guard': 'varchar', 'code': 'varchar', 'place': 'bigint'
        }
    } -%}
    {%- set fields = {'recorded_at': 'timestamp', 'principal': 'varchar', 'session_id': 'varchar', 'transition': 'varchar'} -%}
    {%- do fields.update(told[stream]) -%}
    {{- return(fields) -}}
{%- endmacro %}

{% macro log_streams() -%}
    {{- return(['cells', 'links', 'annotations', 'frames', 'replays', 'traces', 'approvals', 'proposals', 'decisions', 'reads', 'refusals']) -}}
{%- endmacro %}

{#- The events of a stream as typed columns, from rows with `event` as JSON. What does not fit its type is null; the type guard has seen to
    it before the event was written. -#}
{% macro log_events(stream, rows) -%}
    {%- set fields = governed_memory.log_fields(stream) -%}
    select
        writer,
        seq,
        {% for field in fields -%}
        told.{{ field }} as {{ field }}{{ ',' if not loop.last }}
        {% endfor %}
    from (select writer, seq, from_json(event, '{{ governed_memory.log_shape(stream) }}') as told from {{ rows }})
{%- endmacro %}

{#- The shape of a stream's events as from_json takes it. -#}
{% macro log_shape(stream) -%}
    {%- set shape = {} -%}
    {%- for field, type in governed_memory.log_fields(stream).items() -%} {%- do shape.update({field: governed_memory.json_shape(type)}) -%} {%- endfor -%}
    {{- return(tojson(shape)) -}}
{%- endmacro %}

{% macro json_shape(type) -%}
    {%- if type == 'struct("position" bigint, cell_id varchar, cell_fingerprint varchar)[]' -%}
        {{- return([{'position': 'BIGINT', 'cell_id': 'VARCHAR', 'cell_fingerprint': 'VARCHAR'}]) -}}
    {%- elif type == 'struct(tool varchar, inputs_hash varchar, result_hash varchar, succeeded boolean)[]' -%}
        {{- return([{'tool': 'VARCHAR', 'inputs_hash': 'VARCHAR', 'result_hash': 'VARCHAR', 'succeeded': 'BOOLEAN'}]) -}}
    {%- elif type.endswith('[]') -%} {{- return([type[:-2] | upper]) -}}
    {%- else -%} {{- return(type | upper) -}} {%- endif -%}
{%- endmacro %}

{#- What a field of this type may hold, in words of JSON. -#}
{% macro json_kind(type) -%}
    {%- set kinds = {'varchar': 'text', 'varchar[]': 'texts', 'double': 'number', 'bigint': 'whole', 'boolean': 'flag', 'timestamp': 'time', 'date': 'time', 'json': 'object'} -%}
    {{- return(kinds.get(type, 'list')) -}}
{%- endmacro %}
