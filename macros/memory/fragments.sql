{#- What Python reads memory with, without the schema; blanks between __ are SQL. -#}
{% macro memory_fragments() -%}
    {{- return({
        'recalled': governed_memory.recalled(
            'term in (__terms__)', '__count__', '$asked_system', '$clock', '$takes_expired', '$most', {
                'principal': '$principal', 'session_id': '$session_id', 'parties': '$parties', 'boundary': '$boundary',
                'is_global': '$is_global', 'on_date': '$on_date::date'
            }
        ),
        'frame_read': governed_memory.frame_read('$frame_id', {
            'principal': '$principal', 'session_id': '$session_id', 'parties': '$parties', 'boundary': '$boundary', 'is_global': '$is_global',
            'on_date': '$on_date::date'
        }),
    }) -}}
{%- endmacro %}
