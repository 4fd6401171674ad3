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

{#- Rows with `event` as JSON, typed, and with what the type guard asks about their shape: has_unknown_field and has_malformed_field. -#}
{% macro judged_events(stream, rows) -%}
    {%- set fields = governed_memory.log_fields(stream) -%}
    select
        place,
        {% for field in fields -%}
        told.{{ field }} as {{ field }},
        {% endfor -%}
        len(list_filter(json_keys(event), lambda key: key not in ('{{ fields | join("', '") }}'))) > 0 as has_unknown_field,
        coalesce(
            {% for field, type in fields.items() -%}
            {% set found = 'types[' ~ loop.index ~ ']' -%}
            {% if type.endswith('[]') -%}
            {{ found }} not in ('ARRAY', 'NULL')
            {% elif type == 'json' -%}
            {{ found }} not in ('OBJECT', 'NULL')
            {% elif type == 'varchar' -%}
            {{ found }} not in ('VARCHAR', 'NULL')
            {% elif type == 'boolean' -%}
            {{ found }} not in ('BOOLEAN', 'NULL')
            {% elif type in ['timestamp', 'date'] -%}
            {{ found }} not in ('VARCHAR', 'NULL') or ({{ found }} = 'VARCHAR' and told.{{ field }} is null)
            {% else -%}
            {{ found }} not in ('BIGINT', 'UBIGINT', 'DOUBLE', 'NULL') or ({{ found }} <> 'NULL' and told.{{ field }} is null)
            {% endif -%}
            {{ 'or ' if not loop.last }}
            {%- endfor %}, false
        )
        {% for field, type in fields.items() if type == 'varchar[]' -%}
        or coalesce(len(list_filter(json_type(event, '$.{{ field }}[*]'), lambda type: type <> 'VARCHAR')) > 0, false)
        {% endfor -%}
        as has_malformed_field
    from (
        select
            place,
            event,
            from_json(event, '{{ governed_memory.log_shape(stream) }}') as told,
            json_type(event, ['$.{{ fields | join("', '$.") }}']) as types
        from {{ rows }}
    )
{%- endmacro %}
