{#- The five guards (M3), in the order in which they are asked. Each transition asks those conditions that `transition_policies` has a row of
    and that is on; the first that is broken is why it is refused. -#}
{% macro guards() -%}
    {{- return(['type', 'provenance', 'integrity', 'policy', 'identity']) -}}
{%- endmacro %}

{#- The refusals of judged rows, a clause with place, target_id, transition and `codes`, the names of the conditions that each row breaks: one
    row for each row refused. -#}
{% macro refusals_of(judged) -%}
    select
        broken.place,
        broken.target_id,
        broken.transition,
        policies.guard,
        policies.code,
        policies.requirement
    from (
        select
            place,
            target_id,
            transition,
            unnest(string_split(codes, ',')) as code
        from {{ judged }}
    ) as broken
    inner join {{ governed_memory.relation('transition_policies') }} as policies using (transition, code)
    where policies.is_on
    qualify row_number() over (
        partition by broken.place
        order by list_position(['{{ governed_memory.guards() | join("', '") }}'], policies.guard), policies.code
    ) = 1
{%- endmacro %}

{#- The codes of the conditions, {code: SQL}, that hold of a row, as a text with commas between: for a million rows a list of them takes longer. -#}
{% macro broken_conditions(conditions) -%}
    concat_ws(
        ',',
        {%- for code, condition in conditions.items() %}
        case when {{ condition }} then '{{ code }}' end{{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}

{#- One identifier, one content: against what is held, and against what is judged before it. -#}
{% macro identity_conflict(key) -%}
    coalesce(held.fingerprint, first_value(judged.fingerprint) over (partition by judged.{{ key }} order by judged.place)) <> judged.fingerprint
{%- endmacro %}

{#- The judged rows that name a cell as a source that is not held. -#}
{% macro missing_sources() -%}
    select distinct wanted.place
    from (
        select
            place,
            unnest(source_ids) as held_id
        from judged
        where len(source_ids) > 0
    ) as wanted
    left join {{ governed_memory.relation('int_held') }} as held on wanted.held_id = held.held_id and held.stream = 'cells'
    where held.held_id is null
{%- endmacro %}

{#- More bytes than an event may have, all fields together: dbt reads the log with a limit of 64 MiB for a line. -#}
{% macro is_too_long() -%}
    judged.event_bytes > 33554432
{%- endmacro %}

{#- A name that no list, message or index is made for. -#}
{% macro is_too_long_a_name(name) -%}
    length({{ name }}) > 200
{%- endmacro %}

{#- An instant as events write it. An engine reads more as one: 'epoch', 'infinity', 2026-1-1. -#}
{% macro instant_pattern() -%}
    [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z
{%- endmacro %}

{#- What the guards look at in a build: of all that the log holds the events that count. What was told of an identifier after another told of it is
    none of them, and `refusals` says so. A writer puts the events that it is asked to write in this place. -#}
{% macro held_events(stream) -%}
    select
        row_number() over (order by told.writer, told.seq) as place,
        told.event
    from {{ governed_memory.relation('stg_log_' ~ stream) }} as told
    inner join {{ governed_memory.relation(stream) }} as held on told.writer = held.writer and told.seq = held.seq
{%- endmacro %}

{#- Rows with `event` as JSON, as clauses to begin a model with; the last of them, `judged`, has place, the event's fields, how long it is
    (event_bytes), and whether it has a field that the stream has not (has_unknown_field) or one of another type than its own (has_malformed_field).

    Both are asked of the row alone, of the types of all its fields in one reading of it, and once: planning a write of one row is most of its time. -#}
{% macro judged_events(stream) -%}
{%- set fields = governed_memory.log_fields(stream) -%}
typed as (
    select
        place,
        event,
        strlen(event) as event_bytes,
        json_type(event, ['$.{{ fields | join("', '$.") }}']) as types,
        unnest(from_json(event, '{{ governed_memory.log_shape(stream) }}'))
    from {{ governed_memory.relation('int_judged_' ~ stream) }}
),

judged as materialized (
    select
        * exclude (event, types),
        len(json_keys(event)) > list_count(types) as has_unknown_field,
        {{ governed_memory.malformed_fields(fields) }} as has_malformed_field
    from typed
)
{%- endmacro %}

{#- Whether a row of `typed` has a field of another type than its own: by its JSON type, by what a list holds, and where it cannot be read as its type. -#}
{% macro malformed_fields(fields) -%}
    {%- set others = {
        'text': "<> 'VARCHAR'", 'time': "<> 'VARCHAR'", 'number': "not in ('BIGINT', 'UBIGINT', 'DOUBLE')",
        'whole': "not in ('BIGINT', 'UBIGINT')", 'flag': "<> 'BOOLEAN'", 'object': "<> 'OBJECT'"
    } -%}
    {%- set asked = [] -%}
    {%- for field, type in fields.items() -%}
        {%- set found = 'types[' ~ loop.index ~ ']' -%}
        {%- set kind = governed_memory.json_kind(type) -%}
        {%- do asked.append(found ~ ' ' ~ others.get(kind, "<> 'ARRAY'")) -%}
        {%- if type in ['timestamp', 'date', 'bigint'] -%} {%- do asked.append(found ~ ' is not null and ' ~ field ~ ' is null') -%} {%- endif -%}
        {%- if type == 'timestamp' -%}
            {%- do asked.append("not regexp_full_match(event ->> '$." ~ field ~ "', '" ~ governed_memory.instant_pattern() ~ "')") -%}
        {%- endif -%}
        {%- if kind == 'texts' -%}
            {%- do asked.append('case when ' ~ found ~ " is not null then not list_has_all(['VARCHAR'], json_type(event, '$." ~ field ~ "[*]')) end") -%}
        {%- endif -%}
    {%- endfor -%}
    {{- asked | join('\n        or ') -}}
{%- endmacro %}
