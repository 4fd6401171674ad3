{#- What Python makes packets with, without the schema; blanks between __ are SQL. -#}
{% macro packet_fragments() -%}
    {%- set reader = {
        'principal': '$principal', 'session_id': '$session_id', 'parties': '$parties', 'boundary': '$boundary', 'is_global': '$is_global',
        'on_date': '$on_date::date'
    } -%}
    {{- return({
        'graph_walk': governed_memory.graph_walk(
            '$start', '$adjacencies::varchar[]', '$scales::varchar[]', '$most_nodes', '$most_steps', reader
        ),
        'matching_concepts': governed_memory.matching_concepts(),
        'concepts_of_records': 'select distinct concept_id, record_id from ' ~ governed_memory.relation('records')
            ~ ' where record_id in (select unnest($record_ids)) and concept_id is not null and ($store_id::varchar is null or store_id = $store_id)',
        'records_told': 'select distinct store_id, record_id, source_id, valid_from, valid_to, written_by, recorded_at from '
            ~ governed_memory.relation('records') ~ ' where record_id in (select unnest($record_ids::varchar[])) and '
            ~ governed_memory.is_visible('is_restricted', 'release_to', '$parties::varchar[]', '$boundary') ~ ' order by all',
    }) -}}
{%- endmacro %}
