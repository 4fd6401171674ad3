{#- How the place of a store reads: a path becomes a reader that changes nothing in the file and guesses nothing about it, so 0012 stays 0012
    and a folder named a=b is no column. Anything else a source renders to (a table, a reader call of the user's own) is taken as it is. -#}
{% macro store_reader(store_id, store, rendered) -%}
    {%- if not rendered.startswith("'") -%} {{- return(rendered) -}} {%- endif -%}
    {%- set path = governed_memory.path_literal(rendered[1:-1]) -%}
    {%- set suffix = rendered[1:-1].split('.')[-1].lower() -%}
    {%- if 'delimiter' in store and (suffix not in ['csv', 'tsv'] or store.delimiter | string | length != 1) -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": delimiter is '" ~ store.delimiter ~ "' for " ~ rendered ~ "; expected one character, and a .csv or .tsv file") }}
    {%- elif suffix in ['jsonl', 'ndjson'] -%} {{- return("read_ndjson_objects(" ~ path ~ ", hive_partitioning = false)") -}}
    {%- elif suffix == 'json' -%}
        {%- do governed_memory.refuse_cut_off_array(store_id, path) -%}
        {{- return("read_json_objects(" ~ path ~ ", hive_partitioning = false)") -}}
    {%- elif suffix == 'parquet' -%} {{- return(governed_memory.parquet_reader(path)) -}}
    {%- elif suffix in ['csv', 'tsv'] -%}
        {%- set found = [store.delimiter] if 'delimiter' in store else run_query(governed_memory.csv_delimiter(path)).columns[0].values() -%}
        {%- set delimiter = governed_memory.text_literal(found[0] if found else ',') -%}
        {%- do governed_memory.refuse_broken_csv(store_id, path, delimiter) -%}
        {{- return(governed_memory.csv_reader(path, delimiter)) -}}
    {%- else -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": external_location " ~ rendered ~ " ends in none of .jsonl, .ndjson, .json, .csv, .tsv, .parquet; name the file so, or give a reader call such as read_csv(...)") }}
    {%- endif -%}
{%- endmacro %}


{#- A path as a reader takes it. `*`, `?` and `[` make a pattern over the part files of a store, unless a file has that very name. -#}
{% macro path_literal(path) -%}
    {%- set quoted = path | replace("''", "'") | replace("'", "''") -%}
    {%- set literal = "'" ~ quoted | replace('[', '[[]') | replace('*', '[*]') | replace('?', '[?]') ~ "'" -%}
    {%- set is_file = literal != "'" ~ quoted ~ "'" and run_query('select 1 from glob(' ~ literal ~ ')') | length -%}
    {{- return(literal if is_file else "'" ~ quoted ~ "'") -}}
{%- endmacro %}


{#- Everything stated: a reader that guesses drops rows of another length, and types that turn 0012 into 12. -#}
{% macro csv_reader(path, delimiter, more='') -%}
    read_csv({{ path }}, delim = {{ delimiter }}, quote = '"', escape = '"', comment = '', header = true, skip = 0, all_varchar = true, strict_mode = true, max_line_size = 16777216, hive_partitioning = false{{ more }})
{%- endmacro %}


{% macro parquet_reader(path) -%}
    read_parquet({{ path }}, hive_partitioning = false)
{%- endmacro %}


{#- What separates the columns of a CSV file: of comma, semicolon, tab and bar the one its first line has most of. No row for an empty file.
    Not strict: quotes mean nothing here, so a break in a value would look like a line that ends otherwise than the rest. -#}
{% macro csv_delimiter(path) -%}
    select delimiter
    from (
        select header
        from read_csv({{ path }}, columns = {'header': 'varchar'}, delim = chr(31), quote = '', escape = '', comment = '', header = false, auto_detect = false, strict_mode = false, max_line_size = 16777216, hive_partitioning = false)
        limit 1
    )
    cross join (values (1, ','), (2, ';'), (3, chr(9)), (4, '|')) as delimiters (place, delimiter)
    order by length(header) - length(replace(header, delimiter, '')) desc, place
    limit 1
{%- endmacro %}


{#- DuckDB reads an array that breaks off, or ends in a comma, as far as it goes; a store that lost records must not look whole. -#}
{% macro refuse_cut_off_array(store_id, path) -%}
    {%- set found = run_query("select filename from read_text(" ~ path ~ ") where regexp_matches(content, '^[\ufeff\\s]*\\[') and not regexp_matches(content, '[^,\\s]\\s*\\]\\s*$') limit 1") -%}
    {%- if found | length -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": " ~ found.rows[0][0] ~ ": the array does not end in ] behind a record; it is cut off, so records may be missing") }}
    {%- endif -%}
{%- endmacro %}


{#- DuckDB refuses a row of another length with the whole row in its message, which a record that is not for everyone must not reach. So
    such rows are looked for first, and named by their place. -#}
{% macro refuse_broken_csv(store_id, path, delimiter) -%}
    {%- set rejects = ", store_rejects = true, rejects_table = 'csv_rejects', rejects_scan = 'csv_scans', rejects_limit = 1" -%}
    {%- do run_query('drop table if exists csv_rejects') -%}
    {%- do run_query('drop table if exists csv_scans') -%}
    {%- do run_query('select count(columns(*)) from ' ~ governed_memory.csv_reader(path, delimiter, rejects)) -%}
    {%- set found = run_query("select file_path, line, lower(error_type) as error_type, case when error_type in ('MISSING COLUMNS', 'TOO MANY COLUMNS') then error_message end as columns from csv_rejects inner join csv_scans using (scan_id, file_id)") -%}
    {%- if found | length -%}
        {%- set row = found.rows[0] -%}
        {{ exceptions.raise_compiler_error("store " ~ store_id ~ ": " ~ row['file_path'] ~ ", row " ~ row['line'] ~ " (the header is row 1): " ~ row['error_type'] ~ ("; " ~ row['columns'] if row['columns'] else "") ~ ". The separator is " ~ delimiter ~ "; put a value that holds it in double quotes, or say `delimiter:` in the store's entry") }}
    {%- endif -%}
{%- endmacro %}


{% macro reader_columns(store_id, reader) -%}
    {%- set columns = {} -%}
    {%- for row in run_query('describe select * from ' ~ reader).rows -%}
        {%- do columns.update({row['column_name']: row['column_type']}) -%}
    {%- endfor -%}
    {{- return(columns) -}}
{%- endmacro %}


{#- Text that says null is missing (C09), but never as an end: there it is a value that no one can read, and a rule says so.
    A list column of text is read as a list where it is one ([a, b] or ["a", "b"]); other text stays, for a rule to judge. -#}
{% macro column_as_json(role, column, type) -%}
    {%- if type != 'VARCHAR' or role == 'valid_to' -%}
        to_json({{ column }})
    {%- elif role in governed_memory.list_roles() -%}
        coalesce(to_json(try_cast({{ column }} as varchar[])), to_json(nullif(nullif({{ column }}, 'null'), 'NULL')))
    {%- else -%}
        to_json(nullif(nullif({{ column }}, 'null'), 'NULL'))
    {%- endif -%}
{%- endmacro %}


{#- The readings above as gmem takes them: {name: SQL} in which __path__, __delimiter__ and __column__ stand for what it fills in. -#}
{% macro reader_fragments() -%}
    {%- set fragments = {
        'csv_reader': governed_memory.csv_reader('__path__', '__delimiter__'),
        'csv_delimiter': governed_memory.csv_delimiter('__path__'),
        'parquet_reader': governed_memory.parquet_reader('__path__'),
        'days_of_texts': governed_memory.days_of_texts(),
        'typed_column': governed_memory.column_as_json('value', '__column__', 'a type'),
    } -%}
    {%- for role in governed_memory.roles() -%}
        {%- do fragments.update({'text_column ' ~ role: governed_memory.column_as_json(role, '__column__', 'VARCHAR')}) -%}
    {%- endfor -%}
    {{- return(fragments) -}}
{%- endmacro %}
