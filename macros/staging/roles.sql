{#- What a column can mean. `json` roles are kept as JSON until int_record_values reads them; the order is the order of
    the columns in stg_store_rows. written_by is never read from a column of that name: only a store that maps it has it (T8). -#}
{% macro roles() -%}
    {{- return([
        'record_id', 'concept', 'value', 'valid_from', 'valid_to', 'source', 'concept_owner', 'owner_role',
        'conflict_policy', 'applies_to', 'does_not_apply_to', 'release_to', 'supersedes',
        'classification', 'confidential', 'restricted', 'policy', 'rule', 'priority',
        'withdrawal', 'recorded_at', 'written_by',
    ]) -}}
{%- endmacro %}

{% macro list_roles() -%}
    {{- return(['applies_to', 'does_not_apply_to', 'release_to', 'supersedes']) -}}
{%- endmacro %}

{#- The roles whose absence the presence rules report, beside valid_from and valid_to, which read apart. -#}
{% macro presence_roles() -%}
    {{- return(['source', 'concept_owner', 'owner_role', 'applies_to', 'does_not_apply_to', 'release_to', 'supersedes']) -}}
{%- endmacro %}

{% macro role_columns(store_id, store) -%}
    {%- set mapped = store.get('columns', {}) -%}
    {%- for role in mapped if role not in governed_memory.roles() -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": columns names the unknown role '" ~ role ~ "'; known roles are " ~ governed_memory.roles() | join(', ')) }}
    {%- endfor -%}
    {%- set columns = {} -%}
    {%- for role in governed_memory.roles() if role != 'written_by' or role in mapped -%}
        {%- do columns.update({role: mapped.get(role, role)}) -%}
    {%- endfor -%}
    {{- return(columns) -}}
{%- endmacro %}

{#- A text as SQL, whatever quotes it holds. -#}
{% macro text_literal(text) -%}
    {{- return("'" ~ (text | string | replace("'", "''")) ~ "'") -}}
{%- endmacro %}
