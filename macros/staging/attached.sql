{#- What the root project attaches, as its vars state it. Without a statement this project builds its example; a project that installs
    this one as a package never sees the example. -#}
{% macro attached_stores() -%}
    {{- return(var('example_stores') if governed_memory.is_example() else var('stores', none) or {}) -}}
{%- endmacro %}

{% macro attached_registers() -%}
    {{- return(var('example_registers') if governed_memory.is_example() else var('registers', none) or {}) -}}
{%- endmacro %}

{% macro is_example() -%}
    {{- return(project_name == 'governed_memory' and var('stores', none) is none) -}}
{%- endmacro %}

{#- The relation that a var names: [source name, table name] of a dbt source; or a seed or model by its name, or by package.name where it
    is not the root project's. The package is always given, since models of this one are called parties or sources too. -#}
{% macro attached_relation(place) -%}
    {%- if place is not string -%}
        {%- set found = source(place[0], place[1]) -%}
    {%- elif '.' in place -%}
        {%- set found = ref(place.split('.')[0], place.split('.')[1]) -%}
    {%- else -%}
        {%- set found = ref(project_name, place) -%}
    {%- endif -%}
    {{- return(governed_memory.without_own_database(found)) -}}
{%- endmacro %}
