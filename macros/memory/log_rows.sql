{#- The committed rows of a stream of the memory log: what the head of its writer covered when the build began, whatever else a file holds (what
    was written since, a write under way, or one that a crash cut off). No `vars: memory:`, no rows.

    Read as lines and cut as docs/memory_log.md lays them out: what is hashed is the event's own bytes, and a reader of JSON would write numbers anew. -#}
{% macro log_rows(stream) -%}
    {%- set heads = governed_memory.relation('stg_log_heads') -%}
    {%- set place = governed_memory.memory_places() -%}
    {%- set files = place.log ~ '/*/' ~ stream ~ '.*.jsonl' if place else none -%}
    {%- set found = execute and files and run_query("select 1 from glob('" ~ files ~ "') limit 1") | length -%}
    {%- if not found %}
    select null::varchar as writer, null::bigint as seq, null::varchar as chain, null::varchar as event
    where false
    {%- else %}
    select
        heads.writer,
        lines.seq,
        lines.chain,
        lines.line[92 + strlen(lines.digits):-2] as event
    from (
        select
            split_part(filename, '/', -2) as writer,
            line,
            line[11:74] as chain,
            split_part(line[83:102], ',', 1) as digits,
            try_cast(digits as bigint) as seq
        from read_csv(
            '{{ files }}', columns = {'line': 'varchar'}, header = false, auto_detect = false, delim = chr(1), quote = '', escape = '', ignore_errors = true,
            filename = true, hive_partitioning = false, max_line_size = 67108864
        )
    ) as lines
    inner join {{ heads }} as heads
        on heads.stream = '{{ stream }}' and heads.writer = lines.writer and lines.seq > heads.pruned_seq and lines.seq <= heads.last_seq
    {%- endif %}
{%- endmacro %}

{#- Where the log and its heads are, as `vars: memory:` says: {log, heads}; heads may be left out. -#}
{% macro memory_places() -%}
    {%- set given = governed_memory.expect_mapping('memory', var('memory', none) or {}) -%}
    {%- set unknown = given.keys() | reject('in', ['log', 'heads']) | list -%}
    {%- if unknown or (given and not given.get('log')) -%}
        {{ exceptions.raise_compiler_error("vars: memory: expected log: FOLDER and, if the heads are elsewhere, heads: FOLDER; found " ~ tojson(given)) }}
    {%- endif -%}
    {%- set log = (given.get('log') or '') | replace("'", "''") -%}
    {{- return({'log': log, 'heads': (given.get('heads') or log ~ '/../heads') | replace("'", "''")} if log else none) -}}
{%- endmacro %}

{#- How far each writer's streams are committed, as the heads of the log say. The first writer has put a head there before any row, so that a folder
    without one is another than was meant. -#}
{% macro log_heads() -%}
    {%- set place = governed_memory.memory_places() -%}
    {%- set found = execute and place and run_query("select 1 from glob('" ~ place.heads ~ "/*.json') limit 1") | length -%}
    {%- if not found %}
    {%- if execute and place %}
        {{ exceptions.raise_compiler_error(
            "vars: memory: there is no log in " ~ place.log ~ " with heads in " ~ place.heads
            ~ "; `gmem memory write` begins one, or name the folder where it is, from where dbt runs"
        ) }}
    {%- endif %}
    select
        null::varchar as writer,
        null::varchar as stream,
        null::bigint as last_seq,
        null::varchar as last_chain,
        null::bigint as pruned_seq,
        null::varchar as pruned_chain
    where false
    {%- else %}
    select
        heads.head ->> '$.writer' as writer,
        told.key as stream,
        (told.value ->> '$.seq')::bigint as last_seq,
        told.value ->> '$.chain' as last_chain,
        coalesce((told.value ->> '$.pruned.seq')::bigint, 0) as pruned_seq,
        told.value ->> '$.pruned.chain' as pruned_chain
    from read_json('{{ place.heads }}/*.json', columns = {'head': 'json'}, format = 'newline_delimited', maximum_object_size = 16777216) as heads
    cross join json_each(heads.head -> '$.streams') as told
    {%- endif %}
{%- endmacro %}
