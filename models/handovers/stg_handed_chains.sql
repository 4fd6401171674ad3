{#- The rows of the memory log that an ingest has handed over, with the chain that this build finds there: it covers all rows before, too. -#}
{%- set handovers = governed_memory.relation('stg_handovers') -%}
{%- set place = governed_memory.memory_places() -%}
{%- set found = execute and place and run_query("select 1 from glob('" ~ place.log ~ "/*/*.jsonl') limit 1") | length -%}
{% if found %}
with

handed as (
    select distinct generation
    from {{ handovers }}
    where step = 'ingest' and side = 'giver'
),

lines as (
    select
        concat_ws('/', split_part(filename, '/', -2), split_part(split_part(filename, '/', -1), '.', 1), seq) as generation,
        chain
    from read_json(
        '{{ place.log }}/*/*.jsonl', columns = {'chain': 'varchar', 'seq': 'bigint'}, format = 'newline_delimited', ignore_errors = true,
        filename = true, hive_partitioning = false, maximum_object_size = 67108864
    )
)

select
    lines.generation,
    lines.chain
from lines
inner join handed on lines.generation = handed.generation
{% else %}
select
    null::varchar as generation,
    null::varchar as chain
where false
{% endif %}
