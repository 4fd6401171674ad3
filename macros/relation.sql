{#- A model or seed of this package, by name. -#}
{% macro relation(name) -%}
    {{- return(governed_memory.without_own_database(ref('governed_memory', name))) -}}
{%- endmacro %}

{#- The relation without the database that is being built: views and functions on it then still work when that file is renamed, copied or
    attached under another name (L4). What lives in another, attached database is found only by that database's name. -#}
{% macro without_own_database(relation) -%}
    {{- return(relation.include(database=false) if relation.database == target.database else relation) -}}
{%- endmacro %}
