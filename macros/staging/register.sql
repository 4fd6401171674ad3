{#- A register the stores are held against, in the columns given as {name: type}: from what `vars: registers:` names, or empty where it
    names none. -#}
{% macro register(name, columns) -%}
    {%- set place = governed_memory.attached_registers().get(name) -%}
    {{- config(meta={'register': place}) -}}
    select
        {% for column, type in columns.items() -%}
        cast({{ column if place else 'null' }} as {{ type }}) as {{ column }},
        {% endfor %}
    {% if not place -%} where false
    {%- else -%} from {{ governed_memory.attached_relation(place) }}
    {%- endif -%}
{%- endmacro %}
