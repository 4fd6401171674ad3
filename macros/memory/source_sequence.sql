{#- The place of a cell in the sequence of its source (M6), as one value to sort and compare by: what the source numbered comes first, by its
    number; what it did not, by when it was; ties by cell_id. Never by arrival. -#}
{% macro source_sequence(cells, cell_id='cell_id') -%}
    (coalesce({{ cells }}.event_index, 9223372036854775807), {{ cells }}.created_at, {{ cells }}.{{ cell_id }})
{%- endmacro %}
