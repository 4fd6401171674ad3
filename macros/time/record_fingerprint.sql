{#- What tells one content of a record from another: every field that is read, as text, null and '' apart. Dates as they read, with what
    was wrong with them where they are none. -#}
{% macro fingerprinted_fields() -%}
    {%- set texts = ['concept_id', 'value', 'source_id', 'concept_owner', 'owner_role', 'conflict_policy', 'classification', 'confidential',
        'restricted', 'policy', 'rule', 'priority', 'withdrawal', 'written_by'] -%}
    {%- set fields = {} -%}
    {%- for name in texts -%} {%- do fields.update({name: name}) -%} {%- endfor -%}
    {%- for name in ['applies_to', 'does_not_apply_to', 'release_to', 'supersedes'] -%} {%- do fields.update({name: 'cast(to_json(' ~ name ~ ') as varchar)'}) -%} {%- endfor -%}
    {%- do fields.update({
        'valid_from': "concat(cast(valid_from as varchar), ' ', valid_from_problem)",
        'valid_to': "concat(cast(valid_to as varchar), ' ', valid_to_problem, ' ', cast(is_valid_to_stated as varchar))",
        'recorded_at': 'cast(recorded_at as varchar)',
    }) -%}
    {{- return(fields) -}}
{%- endmacro %}

{#- One hash per field, as 'field=hash', so that a later build can say which fields of a record were changed without holding a value. -#}
{% macro field_fingerprints() -%}
    [
        {% for name, text in governed_memory.fingerprinted_fields().items() -%}
        {{ governed_memory.field_fingerprint("'" ~ name ~ "'", text) }}{{ ',' if not loop.last }}
        {% endfor %}
    ]
{%- endmacro %}

{% macro field_fingerprint(name, text) -%}
    {{ name }} || '=' || coalesce(left(md5({{ text }}), 16), '')
{%- endmacro %}

{#- How the rows of a store read, as one hash: fingerprints made under another mapping or zone say nothing of each other. -#}
{% macro reading_fingerprint(stores) -%}
    md5(concat_ws('|', {{ stores }}.column_mapping, {{ stores }}.zone, {{ stores }}.is_valid_to_exclusive, {{ stores }}.is_null_end_open))
{%- endmacro %}
