{#- Staging of one attached store: one row per row it holds, in the columns of stg_store_rows. JSON keeps "missing" and
    "null" apart; columns cannot, so there every end counts as stated and `null_end` says what an empty one means (T1). -#}
{% macro store_rows(store_id, store) -%}
    {%- set columns = governed_memory.role_columns(store_id, store) -%}
    {%- if not store.get('source') -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": give as its source a dbt source, [source name, table name], or the name of a seed or model") }}
    {%- endif -%}
    {%- set place = governed_memory.attached_relation(store.source) | string -%}
    {%- if not execute -%}
        select null
    {%- else -%}
        {%- set reader = governed_memory.store_reader(store_id, store, place) -%}
        {%- set found = governed_memory.reader_columns(store_id, reader) -%}
        {%- if found.keys() | list == ['json'] -%}
            {{ governed_memory.store_rows_from_json(store_id, store, reader, columns) }}
        {%- else -%}
            {{ governed_memory.store_rows_from_columns(store_id, store, reader, columns, found) }}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- Where the rows of a store are: a path or reader call as the source gives it, or a table, with its database only where that is another one.
    A source with a plugin is loaded whenever source() is called, and two models that did so at once would write one table: only
    stg_store_rows does, and what is said here names the plugin and what it reads. -#}
{% macro store_location(store) -%}
    {%- set meta = governed_memory.plugin_meta(store) -%}
    {%- if meta -%} {{- return(meta.plugin ~ '(' ~ meta.get('form') ~ ', ' ~ meta.get('path') ~ ')') -}} {%- endif -%}
    {{- return(governed_memory.attached_relation(store.source) | string) -}}
{%- endmacro %}


{#- What the source of a store says of the plugin that reads it; empty where none does. -#}
{% macro plugin_meta(store) -%}
    {%- if execute and store.get('source') and store.source is not string -%}
        {%- for node in graph.sources.values() if [node.source_name, node.name] == store.source | list and node.meta.get('plugin') -%}
            {{- return(node.meta) -}}
        {%- endfor -%}
    {%- endif -%}
    {{- return({}) -}}
{%- endmacro %}


{#- The form of a store: what its source's plugin reads it as, which its entry may repeat but not gainsay. -#}
{% macro store_form(store_id, store) -%}
    {%- set read_as = governed_memory.plugin_meta(store).get('form') -%}
    {%- if read_as and store.get('form', read_as) != read_as -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": form is '" ~ store.form ~ "' here, but its source " ~ store.source | join('.') ~ " is read as '" ~ read_as ~ "' (meta: form); leave it out here, or correct one of the two") }}
    {%- endif -%}
    {{- return(read_as or store.get('form', 'relational')) -}}
{%- endmacro %}


{#- How the rows of a store read, beside each row: the columns that stores has too, without a join that could change the rows' order. -#}
{% macro store_reading(store) -%}
        {{ store.get('valid_to_is') == 'exclusive' }} as is_valid_to_exclusive,
        {{ store.get('null_end') != 'unknown' }} as is_null_end_open,
        {{ governed_memory.text_literal(store.get('zone', 'UTC')) }} as zone,
        [{% for marker in store.get('open_markers', []) %}{{ governed_memory.text_literal(marker) }}{{ ', ' if not loop.last }}{% endfor %}]::varchar[] as open_markers
{%- endmacro %}


{% macro store_rows_from_json(store_id, store, reader, columns) -%}
    {%- set paths = [] -%}
    {%- for column in columns.values() -%} {%- do paths.append(governed_memory.json_path(column)) -%} {%- endfor -%}
    select
        {{ governed_memory.text_literal(store_id) }} as store_id,
        row_number() over () as record_index,
        json_exists(json, {{ governed_memory.json_path(columns['valid_to']) }}) as is_valid_to_stated,
        len(json_keys(json)) <> len(list_distinct(json_keys(json))) as has_repeated_key,
        false as is_from_columns,
        {{ governed_memory.store_reading(store) }},
        {% for role in governed_memory.roles() -%}
        {% if role in columns -%} fields[{{ loop.index }}] {%- else -%} null::json {%- endif %} as {{ role }},
        {% endfor %}
    from (
        select
            case
                when json_type(json) = 'OBJECT' then json
                else error({{ governed_memory.text_literal('store ' ~ store_id ~ ': every record must be a JSON object; a JSON array belongs in a file that ends in .json, one object a line in one that ends in .jsonl. Found ') }} || json_type(json))
            end as json,
            json_extract(json, [{{ paths | join(', ') }}]) as fields,
        from {{ reader }}
    )
{%- endmacro %}


{% macro json_path(key) -%}
    {{- return(governed_memory.text_literal('$."' ~ key | replace('"', '\\"') ~ '"')) -}}
{%- endmacro %}


{% macro store_rows_from_columns(store_id, store, reader, columns, found) -%}
    {%- for role, column in store.get('columns', {}).items() if column not in found -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": it has no column '" ~ column ~ "' (mapped from " ~ role ~ "); its columns are " ~ found.keys() | join(', ')) }}
    {%- endfor -%}
    select
        {{ governed_memory.text_literal(store_id) }} as store_id,
        row_number() over () as record_index,
        {{ columns['valid_to'] in found }} as is_valid_to_stated,
        false as has_repeated_key,
        true as is_from_columns,
        {{ governed_memory.store_reading(store) }},
        {% for role in governed_memory.roles() -%}
        {% if columns.get(role) in found -%}
        {{ governed_memory.column_as_json(role, adapter.quote(columns[role]), found[columns[role]]) }}
        {%- else -%} null::json {%- endif %} as {{ role }},
        {% endfor %}
    from {{ reader }}
{%- endmacro %}
