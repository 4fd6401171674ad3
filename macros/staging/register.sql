{#- A register the stores are held against, in the columns given as {name: type}: from the seed, model or source that
    `vars: registers:` names, or empty where it names none. -#}
{% macro register(name, columns) -%}
    {%- set place = var('registers', {}).get(name) -%}
    select
        {% for column, type in columns.items() -%}
        cast({{ column if place else 'null' }} as {{ type }}) as {{ column }},
        {% endfor %}
    {% if not place -%} where false
    {%- elif place is string -%} from {{ ref(place).include(database=false) }}
    {%- else -%} from {{ source(place[0], place[1]) }}
    {%- endif -%}
{%- endmacro %}
