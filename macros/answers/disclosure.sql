{#- What one caller is told of what is left, decided last (G5 to G7): as a clause
    `governed_answers`, one row per question. `resolved` names a clause with the
    keys and what `concept_segments` holds, asked_scope, caller_parties (a list) and caller_boundary; there is a row for every side.

    `keys` tell the rows apart, `question` those of one question, to whichever store it goes: stores that answer it with different values
    disagree, and nothing merges them.

    Nothing of a withheld record leaves here, whoever reads the result: values are picked from visible sides only, and what is counted is
    how many records that bear on the question the caller may not see. -#}
{% macro disclosed(resolved, keys, question) -%}
seen as (
    select
        *,
        {{ governed_memory.is_visible('is_restricted', 'release_to', 'caller_parties', 'caller_boundary') }} as is_visible,
        is_restricted and coalesce(len(release_to), 0) = 0 as is_for_nobody
    from {{ resolved }}
),

outcomes as (
    select
        {{ keys | join(', ') }},
        case any_value(resolution)
            when 'decided' then case when bool_and(is_visible) then 'answered' else 'refused' end
            when 'unresolved' then case when bool_and(is_visible) then 'abstained' else 'refused' end
            when 'several' then case when bool_or(is_visible) then 'answered' else 'refused' end
            else any_value(resolution)
        end as outcome,
        any_value(resolution) as resolution,
        list(
            {'record_id': record_id, 'value': value, 'source_id': source_id, 'valid_from': valid_from}
            order by record_id, valid_from
        ) filter (where is_visible) as visible_sides,
        list_filter([
            case when bool_or(not is_visible and not is_for_nobody) then 'not_released' end,
            case when bool_or(not is_visible and is_for_nobody) then 'restricted_without_release' end
        ], lambda code: code is not null) as reasons_to_refuse,
        list_concat(any_value(reasons), case when any_value(len(asked_scope)) = 0 and list_contains(any_value(reasons), 'out_of_scope') then ['scope_required'] else [] end)
            as reasons,
        any_value({{ governed_memory.withheld_count('restricted_counts', 'relevant_count', 'caller_parties', 'caller_boundary') }}) as withheld_count,
        any_value(case
            when (caller_boundary = 'inside' or not holds_open)
                and len(list_filter(coalesce(held_for, []), lambda released: not list_has_any(released, caller_parties))) = 0
                then ends_on + 1
        end) as stable_until
    from seen
    group by {{ keys | join(', ') }}
),

governed_answers as (
    select
        {{ keys | join(', ') }},
        outcome,
        case when outcome = 'answered' and resolution = 'decided' then visible_sides[1].record_id end as record_id,
        case when outcome = 'answered' and resolution = 'decided' then visible_sides[1].value end as value,
        case when outcome = 'answered' and resolution = 'decided' then visible_sides[1].source_id end as source_id,
        case when outcome = 'answered' and resolution = 'decided' then visible_sides[1].valid_from end as valid_from,
        case when outcome <> 'refused' and resolution in ('unresolved', 'several') then visible_sides end as sides,
        case when outcome = 'refused' and resolution <> 'refused' then list_concat(reasons, reasons_to_refuse) else reasons end as reasons,
        withheld_count,
        stable_until,
        {{ governed_memory.stores_disagree('visible_sides', question) }} as stores_disagree
    from outcomes
)
{%- endmacro %}

{#- G5: inside the boundary what is not restricted is visible; outside it, or where the boundary is not known, nothing is that does not
    name a party of the caller's. -#}
{% macro is_visible(is_restricted, release_to, parties, boundary) -%}
    ({{ boundary }} = 'inside' and not {{ is_restricted }} or coalesce(list_has_any({{ release_to }}, {{ parties }}), false))
{%- endmacro %}

{% macro withheld_count(restricted_counts, relevant_count, parties, boundary) -%}
    case when {{ boundary }} = 'inside' then coalesce(list_sum(list_transform({{ restricted_counts }}, lambda held: held.record_count)), 0) else coalesce({{ relevant_count }}, 0) end
    - coalesce(list_sum(list_transform(
        list_filter({{ restricted_counts }}, lambda held: list_has_any(held.release_to, {{ parties }})), lambda held: held.record_count
    )), 0)
{%- endmacro %}

{#- Whether the stores that answer a question name different values for it. -#}
{% macro stores_disagree(sides, question) -%}
    count(distinct case
        when outcome = 'answered' then to_json(list_sort(list_distinct(list_transform({{ sides }}, lambda side: coalesce(side.value, '')))))
    end) over (partition by {{ question | join(', ') }}) > 1
{%- endmacro %}
