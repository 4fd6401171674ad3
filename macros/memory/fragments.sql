{#- What Python reads memory with, without the schema; blanks between __ are SQL. -#}
{% macro memory_fragments() -%}
    {%- set reader = {
        'principal': '$principal', 'session_id': '$session_id', 'parties': '$parties', 'boundary': '$boundary', 'is_global': '$is_global',
        'on_date': '$on_date::date'
    } -%}
    {{- return({
        'readable_ids': 'select cell_id from ' ~ governed_memory.relation('cells') ~ ' as cells where cell_id in (select unnest($ids)) and '
            ~ governed_memory.readable('cells', reader),
        'due_cells': governed_memory.due_cells('$clock'),
        'shown_cell': governed_memory.shown_cell('$cell_id', '$clock', reader),
        'recalled': governed_memory.recalled(
            'term in (__terms__)', '__count__', '$asked_system', '$clock', '$takes_expired', '$most', reader
        ),
        'candidates_read': governed_memory.candidates_read('$clock', reader),
        'skill_candidates_read': governed_memory.skill_candidates_read('$clock', reader),
        'policies_in_force': governed_memory.policies_in_force('$clock'),
        'offered_candidates': governed_memory.offered_candidates(
            "(select 'schema' as kind, candidate_fingerprint from readable_candidates union all "
            ~ "select 'skill' as kind, candidate_fingerprint from readable_skill_candidates)"
        ),
        'opposite_schemas': governed_memory.opposite_schemas(
            'select unnest($cell_ids), unnest($families), unnest($outcomes), unnest($policies)'
        ),
        'lineage_walk': governed_memory.lineage_walk('$id', '$clock', reader, '$most_steps', '$most_things'),
        'proposals_read': governed_memory.proposals_read('$clock', reader),
        'frame_read': governed_memory.frame_read('$frame_id', reader),
        'why_readable': governed_memory.why_readable('select unnest($ids)', '$clock', reader),
        'conflict_groups': governed_memory.conflict_groups('select unnest($ids) as cell_id', '$clock', reader),
    }) -}}
{%- endmacro %}
