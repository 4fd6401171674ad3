{#- One row per record with the period in which it is in force (T3, T4, T9, T11). With known_on: as known by then (T6). With scope, a list of
    question classes: only what applies to them, ended only by successors that do (G2). -#}
{% macro intervals(known_on=none, scope=none) -%}
with

records as (
    select *
    from {{ governed_memory.relation('records') }}
    where true
    {% if known_on %} and {{ governed_memory.is_known('known_at', known_on) }} {% endif %}
    {% if scope %} and {{ governed_memory.is_in_scope('applies_to', 'does_not_apply_to', scope) }} {% endif %}
),

clashing as ({{ governed_memory.clashing_rows(known_on) }}),

ineffective as (
    {% if known_on %} {{ governed_memory.ineffective_supersessions(known_on) }}
    {% else %} select * from {{ governed_memory.relation('int_ineffective_supersessions') }} {% endif %}
),

effective as (
    select edges.*
    from {{ governed_memory.relation('int_supersession_edges') }} as edges
    anti join ineffective
        on edges.store_id = ineffective.store_id and edges.successor_index = ineffective.successor_index
        and edges.predecessor_index = ineffective.predecessor_index
    where edges.predecessor_index is not null
    {% if known_on %} and {{ governed_memory.is_known('edges.successor_known_at', known_on) }} {% endif %}
    {% if scope %} and {{ governed_memory.is_in_scope('edges.successor_applies_to', 'edges.successor_does_not_apply_to', scope) }} {% endif %}
),

first_successors as (
    select
        store_id,
        predecessor_index,
        min(successor_valid_from) as superseded_from,
        min(successor_valid_from) filter (where not is_narrower) as wholly_superseded_from,
        -- arg_min passes over nulls, and a successor may have no identifier
        nullif(arg_min(coalesce(successor_id, ''), (successor_valid_from, successor_id is null, coalesce(successor_id, ''))), '') as ended_by,
        arg_min(is_successor_withdrawal, (successor_valid_from, successor_id is null, coalesce(successor_id, ''))) as is_ended_by_withdrawal,
        list({'starts_on': successor_valid_from, 'scopes': coalesce(successor_applies_to, [])}) filter (where is_narrower) as narrower_successors
    from effective
    group by all
),

ineffective_by_record as (
    select
        store_id,
        successor_index,
        list(predecessor_id || ': ' || ineffective_reason order by predecessor_id, ineffective_reason) as ineffective_supersessions
    from ineffective
    group by all
),

ends as (
    select
        records.*,
        clashing.record_index is not null as is_clashing,
        first_successors.superseded_from,
        first_successors.ended_by,
        first_successors.is_ended_by_withdrawal,
        first_successors.narrower_successors,
        coalesce(first_successors.superseded_from < coalesce(first_successors.wholly_superseded_from, date '9999-12-31'), false) as is_partly_ended,
        ineffective_by_record.ineffective_supersessions,
        coalesce(first_successors.superseded_from <= coalesce(records.valid_to, first_successors.superseded_from), false) as is_ended_early,
        {{ governed_memory.earlier_date('records.valid_to', 'first_successors.superseded_from - 1') }} as last_day
    from records
    left join clashing
        on records.store_id = clashing.store_id and records.record_index = clashing.record_index
    left join first_successors
        on records.store_id = first_successors.store_id and records.record_index = first_successors.predecessor_index
    left join ineffective_by_record
        on records.store_id = ineffective_by_record.store_id and records.record_index = ineffective_by_record.successor_index
),

periods as (
    select
        *,
        case
            when is_withdrawal then 'withdrawal'
            when is_clashing then 'duplicate_record_id'
            when not is_validity_known then 'validity_unknown'
            when last_day < valid_from then 'never_in_force'
            else 'in_force'
        end as interval_status
    from ends
),

record_intervals as (
    select
        store_id,
        record_id,
        record_index,
        concept_id,
        value,
        interval_status,
        case when interval_status = 'in_force' then valid_from end as in_force_from,
        case when interval_status = 'in_force' then last_day end as in_force_to,
        valid_from,
        valid_to,
        case when is_ended_early then ended_by end as ended_by,
        case
            when not is_ended_early and valid_to is not null then 'expired'
            when not is_ended_early then null
            when not is_ended_by_withdrawal then 'replaced'
            when superseded_from <= valid_from then 'was_wrong'
            else 'ended'
        end as end_reason,
        is_ended_early and is_partly_ended as is_partly_ended,
        case
            when is_ended_early and is_partly_ended then list_sort(list_distinct(flatten(list_transform(
                list_filter(narrower_successors, lambda successor: successor.starts_on = superseded_from), lambda successor: successor.scopes
            ))))
        end as partly_ended_scopes,
        ineffective_supersessions,
        source_id,
        concept_owner,
        owner_role,
        applies_to,
        does_not_apply_to,
        release_to,
        is_restricted,
        supersedes,
        withdrawal,
        recorded_at
    from periods
)

select * from record_intervals
{%- endmacro %}

{#- G2: no excluded class matches, and where classes are applied one of them does. scope is a list. -#}
{% macro is_in_scope(applies_to, does_not_apply_to, scope) -%}
    (
        {{ scope }} is null
        or not coalesce(list_has_any({{ does_not_apply_to }}, {{ scope }}), false)
        and (coalesce(len({{ applies_to }}), 0) = 0 or list_has_any({{ applies_to }}, {{ scope }}))
    )
{%- endmacro %}

{#- Whether a successor leaves a question alone that its predecessor governs, which then still holds for it (T11): it excludes a class that
    the predecessor does not, or it names its own classes and one that the predecessor governs is not among them. -#}
{% macro is_narrower(successor, predecessor) -%}
    case
        when coalesce(len({{ predecessor }}.applies_to), 0) = 0
            then coalesce(len({{ successor }}.applies_to), 0) > 0
                or not list_has_all(coalesce({{ predecessor }}.does_not_apply_to, []), coalesce({{ successor }}.does_not_apply_to, []))
        else len(list_filter(
            {{ predecessor }}.applies_to,
            lambda governed: not list_contains(coalesce({{ predecessor }}.does_not_apply_to, []), governed)
            and (
                not list_has_all(coalesce({{ predecessor }}.does_not_apply_to, []), coalesce({{ successor }}.does_not_apply_to, []))
                or coalesce(len({{ successor }}.applies_to), 0) > 0 and not list_contains({{ successor }}.applies_to, governed)
            )
        )) > 0
    end
{%- endmacro %}

{#- The earlier of two dates, null meaning open. -#}
{% macro earlier_date(first, second) -%}
    least({{ first }}, {{ second }})
{%- endmacro %}

{#- The later of two dates, null meaning since ever. -#}
{% macro later_date(first, second) -%}
    greatest({{ first }}, {{ second }})
{%- endmacro %}

{#- The same for a question of at most one class: without one, only what applies everywhere (T11). -#}
{% macro is_in_one_scope(applies_to, does_not_apply_to, question_class_id) -%}
    (
        not coalesce(list_contains({{ does_not_apply_to }}, {{ question_class_id }}), false)
        and (coalesce(len({{ applies_to }}), 0) = 0 or coalesce(list_contains({{ applies_to }}, {{ question_class_id }}), false))
    )
{%- endmacro %}
