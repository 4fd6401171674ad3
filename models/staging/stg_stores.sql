{#- dbt compares configurations and no vars: through meta, state:modified sees a changed entry. -#}
{{ config(meta={'stores': governed_memory.attached_stores()}) }}
{% set sql_text = governed_memory.text_literal %}
{% for store_id, store in governed_memory.attached_stores().items() %}
{%- set target_level = store.get('target_level', 0) -%}
{%- if target_level not in [0, 1, 2, 3] -%}
    {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": target_level is " ~ target_level ~ ", expected 0, 1, 2 or 3") }}
{%- endif -%}
{%- for key, allowed in [
    ('valid_to_is', ['inclusive', 'exclusive']), ('null_end', ['open', 'unknown']),
    ('form', ['relational', 'bitemporal_graph', 'vector_memory', 'catalogue', 'documents', 'dimension'])
] if store.get(key, allowed[0]) not in allowed -%}
    {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": " ~ key ~ " is '" ~ store[key] ~ "', expected " ~ allowed | join(' or ')) }}
{%- endfor -%}
{%- if execute and 'zone' in store and not run_query('select 1 from pg_timezone_names() where name = ' ~ sql_text(store.zone)) | length -%}
    {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": zone is '" ~ store.zone ~ "', which is no time zone; expected a name such as Europe/Berlin") }}
{%- endif -%}
{%- set known_keys = [
    'source', 'form', 'columns', 'valid_to_is', 'null_end', 'zone', 'target_level', 'policy', 'steward', 'steward_role', 'attests_writers',
    'open_markers', 'delimiter'
] -%}
{%- set unknown_keys = store.keys() | reject('in', known_keys) | list -%}
{%- if unknown_keys -%}
    {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": unknown key " ~ unknown_keys | join(', ') ~ "; dbt_project.yml lists the keys an entry may have") }}
{%- endif %}
select
    {{ sql_text(store_id) }} as store_id,
    {{ sql_text(governed_memory.store_form(store_id, store)) }} as form,
    {{ target_level }} as target_level,
    {{ sql_text(store.policy) if store.get('policy') else 'null::varchar' }} as policy_id,
    {{ store.get('attests_writers', false) }} as attests_writers,
    {{ sql_text(store.steward) if store.get('steward') else 'null::varchar' }} as steward_party,
    {{ sql_text(store.steward_role) if store.get('steward_role') else 'null::varchar' }} as steward_role,
    {{ sql_text(governed_memory.store_location(store)) }} as location,
    {{ sql_text(tojson(store.get('columns', {}), sort_keys=true)) }} as column_mapping,
    {{ governed_memory.store_reading(store) }}
{% if not loop.last %}union all{% endif %}
{% endfor %}
