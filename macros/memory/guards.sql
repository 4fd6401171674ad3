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
            unnest(codes) as code
        from {{ judged }}
        where len(codes) > 0
    ) as broken
    inner join {{ governed_memory.relation('transition_policies') }} as policies using (transition, code)
    where policies.is_on
    qualify row_number() over (
        partition by broken.place
        order by list_position(['{{ governed_memory.guards() | join("', '") }}'], policies.guard), policies.code
    ) = 1
{%- endmacro %}

{#- The codes of the conditions, {code: SQL}, that hold of a row, as a list. -#}
{% macro broken_conditions(conditions) -%}
    list_filter([
        {%- for code, condition in conditions.items() %}
        case when coalesce({{ condition }}, false) then '{{ code }}' end{{ ',' if not loop.last }}
        {%- endfor %}
    ], lambda code: code is not null)
{%- endmacro %}

{#- One identifier, one content: against what is held, and against what is judged before it. -#}
{% macro identity_conflict(key) -%}
    coalesce(held.fingerprint, first_value(judged.fingerprint) over (partition by judged.{{ key }} order by judged.place)) <> judged.fingerprint
{%- endmacro %}

{#- More bytes than an event may have, all fields together: dbt reads the log with a limit of 64 MiB for a line. -#}
{% macro is_too_long() -%}
    judged.event_bytes > 33554432
{%- endmacro %}

{#- An instant as events write it. An engine reads more as one: 'epoch', 'infinity', 2026-1-1. -#}
{% macro instant_pattern() -%}
    [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z
{%- endmacro %}

{#- Rows with `event` as JSON, as clauses to begin a model with: `judged` has place and the fields of the event; `shapes` the places whose
    event has a field that the stream has not (has_unknown_field) or one of another type (has_malformed_field). -#}
{% macro judged_events(stream) -%}
{%- set rows = governed_memory.relation('int_judged_' ~ stream) -%}
judged as (
    select
        place,
        strlen(event) as event_bytes,
        unnest(from_json(event, '{{ governed_memory.log_shape(stream) }}'))
    from {{ rows }}
),

shapes as (
    select
        events.place,
        bool_or(fields.field is null) as has_unknown_field,
        bool_or(fields.field is not null) as has_malformed_field
    from {{ rows }} as events
    cross join json_each(events.event) as told
    left join {{ governed_memory.relation('int_log_fields') }} as fields on told.key = fields.field and fields.stream = '{{ stream }}'
    where
        case coalesce(fields.kind, 'none')
            when 'none' then true
            when 'text' then told.type <> 'VARCHAR'
            when 'number' then told.type not in ('BIGINT', 'UBIGINT', 'DOUBLE')
            when 'whole' then told.type not in ('BIGINT', 'UBIGINT') or try_cast(told.value ->> '$' as bigint) is null
            when 'flag' then told.type <> 'BOOLEAN'
            when 'object' then told.type <> 'OBJECT'
            when 'time' then
                told.type <> 'VARCHAR' or not regexp_full_match(told.value ->> '$', '{{ governed_memory.instant_pattern() }}')
                or try_cast(told.value ->> '$' as timestamp) is null
            when 'texts' then told.type <> 'ARRAY' or len(list_filter(json_type(told.value, '$[*]'), lambda type: type <> 'VARCHAR')) > 0
            else told.type <> 'ARRAY'
        end
    group by events.place
)
{%- endmacro %}
