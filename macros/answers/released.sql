{#- What a caller's answers rest on: one row per store, concept and visible side. `answers` is a relation of `governed_answers`; where a
    question is refused nothing of it stands here, so that no list of records says more than the answer does (G6). -#}
{% macro released(answers) -%}
select
    store_id,
    concept_id,
    outcome,
    side.record_id,
    side.value,
    side.source_id,
    side.valid_from
from (
    select
        store_id,
        concept_id,
        outcome,
        unnest(case
            when sides is not null then sides
            when outcome = 'answered' then [{'record_id': record_id, 'value': value, 'source_id': source_id, 'valid_from': valid_from}]
        end) as side
    from {{ answers }}
)
{%- endmacro %}

{#- The history of a concept as a caller may see it (G5, G7): one row per record that is visible. A record ended by one that is not keeps
    its end and names nobody; of the identifiers a record names, those of no visible record are left out, whether or not there is such a
    record; and what a withdrawal says is told only where all that it takes back is visible, since it speaks of that. -#}
{% macro disclosed_history() -%}
with

visible as (
    select store_id, record_index, record_id, concept_id, value, withdrawal
    from {{ governed_memory.relation('records') }}
    where {{ governed_memory.is_visible('is_restricted', 'release_to', '__parties__', '__boundary__') }}
),

visible_ids as (
    select
        store_id,
        list(distinct record_id) as record_ids,
        list(distinct record_id) filter (where concept_id = __concept__) as ids_of_concept
    from visible
    group by all
),

with_hidden_successors as (
    select distinct edges.store_id, edges.predecessor_index
    from {{ governed_memory.relation('int_supersession_edges') }} as edges
    anti join visible on edges.store_id = visible.store_id and edges.successor_index = visible.record_index
),

histories as (
    select
        histories.*,
        visible.value,
        visible.withdrawal,
        list_filter(histories.supersedes, lambda name: list_contains(visible_ids.record_ids, name)) as visible_supersedes,
        coalesce(len(histories.supersedes), 0) = coalesce(len(visible_supersedes), 0) as names_visible_only,
        list_contains(visible_ids.record_ids, histories.ended_by) as is_ender_visible,
        with_hidden_successors.predecessor_index is not null as has_hidden_successor,
        visible_ids.ids_of_concept
    from {{ governed_memory.relation('concept_histories') }} as histories
    inner join visible on histories.store_id = visible.store_id and histories.record_index = visible.record_index
    inner join visible_ids on histories.store_id = visible_ids.store_id
    left join with_hidden_successors
        on histories.store_id = with_hidden_successors.store_id and histories.record_index = with_hidden_successors.predecessor_index
    where histories.concept_id = __concept__ and (__store__ is null or histories.store_id = __store__)
)

-- a record about something else belongs here by what it supersedes, which has to be visible then
select
    store_id,
    record_id,
    record_concept_id,
    value,
    interval_status,
    in_force_from,
    in_force_to,
    valid_from,
    valid_to,
    end_reason,
    case when is_ender_visible then ended_by end as ended_by,
    is_partly_ended,
    case when not has_hidden_successor then partly_ended_scopes end as partly_ended_scopes,
    validity_problem,
    visible_supersedes as supersedes,
    case when names_visible_only then ineffective_supersessions end as ineffective_supersessions,
    case when names_visible_only then withdrawal end as withdrawal,
    source_id,
    concept_owner,
    owner_role,
    applies_to,
    does_not_apply_to,
    recorded_at
from histories
where record_concept_id = concept_id or coalesce(list_has_any(visible_supersedes, ids_of_concept), false)
order by store_id, valid_from nulls last, known_at nulls last, record_index
{%- endmacro %}

{#- The visible records beside which a record of a concept is judged: of the same concept, of the identifiers it uses, and those that
    replace one of these; each with what it replaces that is visible too. Of the rest nothing takes part, so that the judgement is the same
    whether or not there is a record that the caller may not see. -#}
{% macro visible_beside() -%}
with

visible as (
    select record_index, record_id, concept_id, supersedes
    from {{ governed_memory.relation('records') }}
    where
        store_id = __store__
        and {{ governed_memory.is_visible('is_restricted', 'release_to', '__parties__', '__boundary__') }}
),

named as (
    select visible.*, list_filter(coalesce(visible.supersedes, []), lambda name: list_contains(visible_ids.record_ids, name)) as visible_supersedes
    from visible
    cross join (select list(distinct record_id) as record_ids from visible) as visible_ids
)

select record_index, visible_supersedes
from named
where concept_id = __concept__ or list_contains(__names__, record_id) or list_has_any(visible_supersedes, __names__)
order by record_index
{%- endmacro %}
