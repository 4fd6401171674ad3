{#- Staging of one attached store: one row per row it holds, in the columns of stg_store_rows. JSON keeps "missing" and
    "null" apart; columns cannot, so there every end counts as stated and `null_end` says what an empty one means (T1). -#}
{% macro store_rows(store_id, store) -%}
    {%- set columns = governed_memory.role_columns(store_id, store) -%}
    {%- if not store.get('source') -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": give as its source a dbt source, [source name, table name], or the name of a seed or model") }}
    {%- endif -%}
    {%- set reader = governed_memory.store_reader(governed_memory.attached_relation(store.source) | string) -%}
    {%- if not execute -%}
        select null
    {%- else -%}
        {%- set found = governed_memory.reader_columns(store_id, reader) -%}
        {%- if found.keys() | list == ['json'] -%}
            {{ governed_memory.store_rows_from_json(store_id, store, reader, columns) }}
        {%- else -%}
            {{ governed_memory.store_rows_from_columns(store_id, store, reader, columns, found) }}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- How the rows of a store read, beside each row: the columns that stores has too, without a join that could change the rows' order. -#}
{% macro store_reading(store) -%}
        {{ store.get('valid_to_is') == 'exclusive' }} as is_valid_to_exclusive,
        {{ store.get('null_end') != 'unknown' }} as is_null_end_open,
        {{ dbt.string_literal(store.get('zone', 'UTC')) }} as zone,
        [{% for marker in store.get('open_markers', []) %}{{ dbt.string_literal(marker) }}{{ ', ' if not loop.last }}{% endfor %}]::varchar[] as open_markers
{%- endmacro %}


{#- A path becomes the reader that changes nothing in it: no type is guessed, so 0012 stays 0012. Anything else a source
    renders to (a table, a reader call of the user's own) is taken as it is. -#}
{% macro store_reader(rendered) -%}
    {%- set path = rendered.strip("'") -%}
    {%- if not rendered.startswith("'") -%} {{- return(rendered) -}}
    {%- elif path.endswith(('.jsonl', '.ndjson')) -%} {{- return("read_ndjson_objects('" ~ path ~ "')") -}}
    {%- elif path.endswith('.json') -%} {{- return("read_json_objects('" ~ path ~ "')") -}}
    {%- elif path.endswith(('.csv', '.tsv')) -%} {{- return("read_csv('" ~ path ~ "', all_varchar = true, header = true)") -}}
    {%- elif path.endswith('.parquet') -%} {{- return("read_parquet('" ~ path ~ "')") -}}
    {%- else -%}
        {{ exceptions.raise_compiler_error("external_location '" ~ path ~ "' ends in none of .jsonl, .ndjson, .json, .csv, .tsv, .parquet; name the file so, or give a reader call such as read_csv(...)") }}
    {%- endif -%}
{%- endmacro %}


{% macro reader_columns(store_id, reader) -%}
    {%- set columns = {} -%}
    {%- for row in run_query('describe select * from ' ~ reader).rows -%}
        {%- do columns.update({row['column_name']: row['column_type']}) -%}
    {%- endfor -%}
    {{- return(columns) -}}
{%- endmacro %}


{% macro store_rows_from_json(store_id, store, reader, columns) -%}
    {%- set paths = [] -%}
    {%- for column in columns.values() -%} {%- do paths.append(governed_memory.json_path(column)) -%} {%- endfor -%}
    select
        {{ dbt.string_literal(store_id) }} as store_id,
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
                else error({{ dbt.string_literal('store ' ~ store_id ~ ': every record must be a JSON object; a JSON array belongs in a file that ends in .json, one object a line in one that ends in .jsonl. Found ') }} || json_type(json))
            end as json,
            json_extract(json, [{{ paths | join(', ') }}]) as fields,
        from {{ reader }}
    )
{%- endmacro %}


{% macro json_path(key) -%}
    {{- return(dbt.string_literal('$."' ~ key | replace('"', '\\"') ~ '"')) -}}
{%- endmacro %}


{% macro store_rows_from_columns(store_id, store, reader, columns, found) -%}
    {%- for role, column in store.get('columns', {}).items() if column not in found -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": it has no column '" ~ column ~ "' (mapped from " ~ role ~ "); its columns are " ~ found.keys() | join(', ')) }}
    {%- endfor -%}
    select
        {{ dbt.string_literal(store_id) }} as store_id,
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


{#- Text that says null is missing (C09), but never as an end: there it is a value that no one can read, and a rule says so.
    A list column of text is read as a list where it is one ([a, b] or ["a", "b"]); other text stays, for a rule to judge. -#}
{% macro column_as_json(role, column, type) -%}
    {%- if type != 'VARCHAR' -%} to_json({{ column }})
    {%- elif role in governed_memory.list_roles() -%}
        coalesce(to_json(try_cast({{ column }} as varchar[])), to_json(nullif(nullif({{ column }}, 'null'), 'NULL')))
    {%- elif role == 'valid_to' -%} to_json({{ column }})
    {%- else -%} to_json(nullif(nullif({{ column }}, 'null'), 'NULL'))
    {%- endif -%}
{%- endmacro %}
