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

{#- The history of a concept, or of every one, as a caller may see it (G5, G7): one row per concept and record that is visible. A record ended
    by one that is not keeps its end and names nobody; of the identifiers a record names, those of no visible record are left out, whether or
    not there is such a record; and what a withdrawal says is told only where all that it takes back is visible, since it speaks of that. -#}
{% macro disclosed_history() -%}
with

visible as (
    select store_id, record_index, record_id, concept_id, value, withdrawal
    from {{ governed_memory.relation('records') }}
    where {{ governed_memory.is_visible('is_restricted', 'release_to', '__parties__', '__boundary__') }}
),

with_hidden_successors as (
    select distinct edges.store_id, edges.predecessor_index
    from {{ governed_memory.relation('int_supersession_edges') }} as edges
    anti join visible on edges.store_id = visible.store_id and edges.successor_index = visible.record_index
),

shown as (
    select histories.*, visible.value, visible.withdrawal
    from {{ governed_memory.relation('concept_histories') }} as histories
    inner join visible on histories.store_id = visible.store_id and histories.record_index = visible.record_index
    where (__concept__ is null or histories.concept_id = __concept__) and (__store__ is null or histories.store_id = __store__)
),

names as (
    select store_id, concept_id, record_index, unnest(supersedes) as name, generate_subscripts(supersedes, 1) as place
    from shown
),

visible_ids as (
    select visible.store_id, visible.record_id, list(visible.concept_id) as concept_ids
    from visible
    semi join (select store_id, name from names union all select store_id, ended_by from shown) as named
        on visible.store_id = named.store_id and visible.record_id = named.name
    group by all
),

visible_names as (
    select
        names.store_id,
        names.concept_id,
        names.record_index,
        list(names.name order by names.place) as visible_supersedes,
        bool_or(list_contains(visible_ids.concept_ids, names.concept_id)) as replaces_one_of_the_concept
    from names
    inner join visible_ids on names.store_id = visible_ids.store_id and names.name = visible_ids.record_id
    group by all
),

histories as (
    select
        shown.*,
        case when shown.supersedes is not null then coalesce(visible_names.visible_supersedes, []) end as visible_supersedes,
        coalesce(len(shown.supersedes), 0) = coalesce(len(visible_names.visible_supersedes), 0) as names_visible_only,
        enders.record_id is not null as is_ender_visible,
        with_hidden_successors.predecessor_index is not null as has_hidden_successor,
        visible_names.replaces_one_of_the_concept
    from shown
    left join visible_names
        on shown.store_id = visible_names.store_id and shown.concept_id = visible_names.concept_id and shown.record_index = visible_names.record_index
    left join visible_ids as enders
        on shown.store_id = enders.store_id and shown.ended_by = enders.record_id
    left join with_hidden_successors
        on shown.store_id = with_hidden_successors.store_id and shown.record_index = with_hidden_successors.predecessor_index
)

-- a record about something else belongs here by what it supersedes, which has to be visible then
select
    store_id,
    concept_id,
    record_index,
    record_id,
    record_concept_id,
    is_restricted,
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
    recorded_at,
    known_at
from histories
where record_concept_id = concept_id or replaces_one_of_the_concept
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
