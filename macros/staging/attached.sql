{#- What the root project attaches, as its vars state it. Without a statement this project builds its example; a project that installs
    this one as a package never sees the example. -#}
{% macro attached_stores() -%}
    {%- set stores = governed_memory.expect_mapping('stores', var('example_stores') if governed_memory.is_example() else var('stores', none) or {}) -%}
    {%- for store_id, store in stores.items() -%}
        {%- if store_id is not string or not modules.re.fullmatch("[^'\"\\s](?:[^'\"\\r\\n]*[^'\"\\s])?", store_id) -%}
            {{ exceptions.raise_compiler_error("vars: stores: a store is called " ~ tojson(store_id | string) ~ "; expected a name without quotes, line breaks and blanks at its ends") }}
        {%- endif -%}
        {%- do governed_memory.expect_mapping('stores: ' ~ store_id, store) -%}
    {%- endfor -%}
    {{- return(stores) -}}
{%- endmacro %}

{#- What a var holds, if it is a mapping. -#}
{% macro expect_mapping(name, found) -%}
    {%- if found is not mapping -%}
        {{ exceptions.raise_compiler_error("vars: " ~ name ~ ": expected names and what they stand for, one `name: ...` each, found " ~ tojson(found, found | string)) }}
    {%- endif -%}
    {{- return(found) -}}
{%- endmacro %}

{#- The only place that `vars: NAME: {KEY: PLACE}` names, as a text within quotes; an empty one where nothing is named. `expected` says what it is in words. -#}
{% macro named_place(name, key, expected) -%}
    {%- set given = governed_memory.expect_mapping(name, var(name, none) or {}) -%}
    {%- if given and given.keys() | list != [key] -%}
        {{ exceptions.raise_compiler_error("vars: " ~ name ~ ": expected " ~ key ~ ": " ~ expected ~ "; found " ~ tojson(given)) }}
    {%- endif -%}
    {{- return((given.get(key) or '') | replace("'", "''")) -}}
{%- endmacro %}

{% macro attached_registers() -%}
    {{- return(governed_memory.expect_mapping('registers', var('example_registers') if governed_memory.is_example() else var('registers', none) or {})) -}}
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
