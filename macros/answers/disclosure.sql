{#- What one caller is told of what is left, decided last (G5 to G7), as a clause `governed_answers`: one row for each of `found`, a clause with
    what `int_segments` holds, and asked_scope, caller_parties (a list) and caller_boundary. `keys` are handed on.

    Nothing of a withheld record leaves here, whoever reads the result: values are picked from visible sides only, and what is counted is
    how many records that bear on the question the caller may not see. `tells_whole` adds whether the caller may see all that the concept holds: it is
    for whoever puts answers together, and not told on. -#}
{% macro disclosed(found, keys, tells_whole=false) -%}
seen as (
    select
        *,
        list_filter(sides, lambda side: {{ governed_memory.is_visible('side.is_restricted', 'side.release_to', 'caller_parties', 'caller_boundary') }}) as visible_sides,
        {{ governed_memory.sees_whole(found, 'caller_parties', 'caller_boundary') }} as is_seen_whole
    from {{ found }}
),

outcomes as (
    select
        *,
        {{ governed_memory.outcome_of('len(visible_sides) = len(sides)', 'len(visible_sides) > 0') }} as outcome
    from seen
),

shown as (
    select
        {{ keys | join(', ') }},
        outcome,
        case when outcome = 'answered' and resolution = 'decided' then visible_sides[1] end as answer,
        case when outcome <> 'refused' and resolution in ('unresolved', 'several') then list_transform(
            visible_sides,
            lambda side: {'record_id': side.record_id, 'value': side.value, 'source_id': side.source_id, 'valid_from': side.valid_from}
        ) end as sides,
        list_concat(
            reasons,
            case when len(asked_scope) = 0 then {{ governed_memory.scope_required() }} end,
            case when outcome = 'refused' and len(sides) > len(visible_sides) + for_nobody_count then ['not_released'] end,
            case when outcome = 'refused' and for_nobody_count > 0 then ['restricted_without_release'] end
        ) as reasons,
        case when caller_boundary = 'inside' then restricted_count else relevant_count end
        - coalesce(list_sum(list_transform(
            restricted_counts, lambda held: case when list_has_any(held.release_to, caller_parties) then held.record_count else 0 end
        )), 0)::bigint as withheld_count,
        case when is_seen_whole then ends_on + 1 end as stable_until,
        is_seen_whole
    from outcomes
),

governed_answers as (
    select
        {{ keys | join(', ') }},
        outcome,
        answer.record_id as record_id,
        answer.value as value,
        answer.source_id as source_id,
        answer.valid_from as valid_from,
        sides,
        reasons,
        withheld_count,
        stable_until
        {%- if tells_whole %},
        is_seen_whole
        {%- endif %}
    from shown
)
{%- endmacro %}

{#- Whether a caller may see every record that a concept holds, on whatever day: only then may it be told when an answer changes (G6). -#}
{% macro sees_whole(holdings, parties, boundary) -%}
    (
        ({{ boundary }} = 'inside' or not {{ holdings }}.holds_open)
        and coalesce(len(list_filter({{ holdings }}.held_for, lambda released: not list_has_any(released, {{ parties }}))), 0) = 0
    )
{%- endmacro %}

{#- Those of $concepts of which a caller, $parties and $boundary, may not see every record. -#}
{% macro concepts_seen_in_part() -%}
select distinct concept_id
from {{ governed_memory.relation('int_concept_holdings') }} as holdings
where
    concept_id in (select unnest($concepts::varchar[]))
    and not {{ governed_memory.sees_whole('holdings', '$parties::varchar[]', '$boundary') }}
{%- endmacro %}

{#- The same for a caller inside the boundary and a segment of a concept that holds no restricted record, in few words: `found` is a clause
    with what `int_segments` holds, of which all may be seen. -#}
{% macro disclosed_openly(found, has_class) -%}
select
    store_id,
    {{ governed_memory.outcome_of('true', 'true') }} as outcome,
    case when resolution = 'decided' then sides[1] end as answer,
    case when resolution in ('unresolved', 'several') then sides end as sides,
    {{ 'reasons' if has_class else 'list_concat(reasons, ' ~ governed_memory.scope_required() ~ ')' }} as reasons,
    0 as withheld_count,
    ends_on + 1 as stable_until
from {{ found }}
where held_for is null
{%- endmacro %}

{#- G6: the outcome of what is left, where all of its sides are visible or not, and any or none. One side is all of one. -#}
{% macro outcome_of(are_all_visible, is_any_visible) -%}
    case resolution
        when 'decided' then case when {{ are_all_visible }} then 'answered' else 'refused' end
        when 'unresolved' then case when {{ are_all_visible }} then 'abstained' else 'refused' end
        when 'several' then case when {{ is_any_visible }} then 'answered' else 'refused' end
        else resolution
    end
{%- endmacro %}

{#- G2: of a question without a scope. -#}
{% macro scope_required() -%}
    case when list_contains(reasons, 'out_of_scope') then ['scope_required'] end
{%- endmacro %}

{#- G5: inside the boundary what is not restricted is visible; outside it, or where the boundary is not known, nothing is that does not
    name a party of the caller's. -#}
{% macro is_visible(is_restricted, release_to, parties, boundary) -%}
    ({{ boundary }} = 'inside' and not {{ is_restricted }} or coalesce(list_has_any({{ release_to }}, {{ parties }}), false))
{%- endmacro %}

{#- Whether the stores that answer one question name different values for it; nothing merges them. -#}
{% macro stores_disagree(question) -%}
    count(distinct case
        when outcome = 'answered' then list_sort(list_distinct(coalesce(list_transform(sides, lambda side: coalesce(side.value, '')), [coalesce(value, '')])))
    end) over (partition by {{ question }}) > 1
{%- endmacro %}
