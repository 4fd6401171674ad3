{#- The committed rows of a stream of the memory log: what the head of its writer covered when the build began, whatever else a file holds (what
    was written since, a write under way, or one that a crash cut off). No log, no rows. -#}
{% macro log_rows(stream) -%}
    {%- set heads = governed_memory.relation('stg_log_heads') -%}
    {%- set place = governed_memory.memory_places() -%}
    {%- set files = place.log ~ '/*/' ~ stream ~ '.*.jsonl' if place else none -%}
    {%- set found = execute and files and run_query("select 1 from glob('" ~ files ~ "') limit 1") | length -%}
    {%- if not found %}
    select null::varchar as writer, null::bigint as seq, null::varchar as event
    where false
    {%- else %}
    select
        heads.writer,
        rows_read.seq,
        rows_read.event::varchar as event
    from read_json(
        '{{ files }}', columns = {'seq': 'bigint', 'event': 'json'}, format = 'newline_delimited', ignore_errors = true, filename = true,
        hive_partitioning = false, maximum_object_size = 67108864
    ) as rows_read
    inner join {{ heads }} as heads
        on heads.stream = '{{ stream }}' and heads.writer = split_part(rows_read.filename, '/', -2) and rows_read.seq <= heads.last_seq
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

{#- How far each writer's streams are committed, as the heads of the log say. -#}
{% macro log_heads() -%}
    {%- set place = governed_memory.memory_places() -%}
    {%- set found = execute and place and run_query("select 1 from glob('" ~ place.heads ~ "/*.json') limit 1") | length -%}
    {%- if not found %}
    select null::varchar as writer, null::varchar as stream, null::bigint as last_seq, null::bigint as pruned_seq
    where false
    {%- else %}
    select
        heads.head ->> '$.writer' as writer,
        told.key as stream,
        (told.value ->> '$.seq')::bigint as last_seq,
        coalesce((told.value -> '$.pruned' ->> '$.seq')::bigint, 0) as pruned_seq
    from read_json('{{ place.heads }}/*.json', columns = {'head': 'json'}, format = 'newline_delimited', maximum_object_size = 16777216) as heads
    cross join json_each(heads.head -> '$.streams') as told
    {%- endif %}
{%- endmacro %}
