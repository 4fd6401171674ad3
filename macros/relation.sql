{#- A model or seed of this package, by name, without the database: views and functions built on it then still
    work when the file is renamed, copied or attached under another name (L4). -#}
{% macro relation(name) -%}
    {{- return(ref('governed_memory', name).include(database=false)) -}}
{%- endmacro %}
