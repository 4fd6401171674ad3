{#- A register the stores are held against, in the columns given as {name: type}: from what `vars: registers:` names, or empty where it
    names none. `key` and `appended` are for one that is only ever added to, as `appended_register` has it. -#}
{% macro register(name, columns, key=[], appended='latest', items=none) -%}
    {%- set place = governed_memory.attached_registers().get(name) -%}
    {{- config(meta={'register': place}) -}}
    {%- if place is mapping -%}
    {#- As the build found it: a view would show what was appended since beside what was built before, and only from the project's folder. -#}
    {{- config(materialized='table') -}}
    {{ governed_memory.appended_register(name, place, columns, key, appended, items) }}
    {%- else -%}
    select
        {% for column, type in columns.items() -%}
        cast({{ column if place else 'null' }} as {{ type }}) as {{ column }},
        {% endfor %}
    {% if not place -%} where false
    {%- else -%} from {{ governed_memory.attached_relation(place) }}
    {%- endif -%}
    {%- endif -%}
{%- endmacro %}

{#- A register that is only ever added to: `appended` is a JSON Lines file, one entry a line, and `base` what the register held before the
    first of them, as it may also be attached by itself. Of the entries of one key that have begun by the build's date the latest counts, the
    later recorded one of two from one day; one that `has_ended` takes its key out. With appended='all' every entry counts: the register
    has dates of its own. `items` names {column of one item: key of an entry that holds a list}, numbered by `position`. -#}
{% macro appended_register(name, place, columns, key, appended, items) -%}
    {%- set known = ['base', 'appended'] -%}
    {%- if 'appended' not in place or place.keys() | reject('in', known) | list -%}
        {{ exceptions.raise_compiler_error("vars: registers: " ~ name ~ ": expected `appended`, a source with a .jsonl file as its external_location, and perhaps `base`; found " ~ place.keys() | join(', ')) }}
    {%- endif -%}
    {%- set location = governed_memory.attached_relation(place.appended) | string -%}
    {%- if execute and not (location.startswith("'") and location.lower().endswith(".jsonl'")) -%}
        {{ exceptions.raise_compiler_error("vars: registers: " ~ name ~ ": appended is " ~ location ~ "; expected a source with a .jsonl file as its external_location") }}
    {%- endif -%}
    {%- set told = columns.keys() | reject('in', ['entry_number', 'position'] + (items or {}).keys() | list) | list -%}
    with entries as (
        {% if place.get('base') -%}
        select
            0 as entry_number,
            null::date as entry_from,
            null::timestamp as entry_recorded_at,
            false as has_ended,
            {% for column in columns if column != 'entry_number' -%}
            cast({{ column }} as {{ columns[column] }}) as {{ column }},
            {% endfor %}
        from {{ governed_memory.attached_relation(place.base) }}
        union all by name
        {% endif -%}
        select
            entry_number,
            cast(entry ->> '$.valid_from' as date) as entry_from,
            cast(entry ->> '$.recorded_at' as timestamp) as entry_recorded_at,
            coalesce(cast(entry ->> '$.has_ended' as boolean), false) as has_ended,
            {% for column in told -%}
            cast(entry ->> '$.{{ column }}' as {{ columns[column] }}) as {{ column }},
            {% endfor %}
            {% for column, list in (items or {}).items() -%}
            unnest(coalesce(from_json(entry -> '$.{{ list }}', '["VARCHAR"]'), [null])) as {{ column }},
            cast(
                unnest(coalesce(range(1, cast(json_array_length(entry -> '$.{{ list }}') as bigint) + 1), [null])) as {{ columns.get('position', 'bigint') }}
            ) as position,
            {% endfor %}
        from (
            select
                row_number() over () as entry_number,
                json as entry
            from read_ndjson_objects({{ governed_memory.path_literal(location[1:-1]) }}, hive_partitioning = false)
        )
    )

    {% if appended == 'all' -%}
    select {{ columns.keys() | join(', ') }} from entries
    {%- else -%}
    , begun as (
        select
            entries.*,
            rank() over (
                partition by {{ key | join(', ') }}
                order by entries.entry_from desc nulls last, entries.entry_recorded_at desc nulls last, entries.entry_number desc
            ) as place
        from entries
        cross join {{ governed_memory.relation('stg_build') }} as builds
        where coalesce(entries.entry_from <= builds.on_date, true)
    )

    select {{ columns.keys() | join(', ') }} from begun
    where place = 1 and not has_ended {% for column in items or {} %} and {{ column }} is not null {% endfor %}
    {%- endif -%}
{%- endmacro %}
