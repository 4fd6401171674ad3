{#- Answers to any questions, worked out from the records: with several classes of scope, or as known on a date (T6). `asked` as for
    `looked_up`; known_on holds for all of them. `concept_id`, where there is one question to one store,
    lets its records be found first; no stores can disagree then. -#}
{% macro worked_out(asked, known_on=none, concept_id=none) -%}
{{ governed_memory.resolved(asked, known_on, concept_id) }},

{{ governed_memory.disclosed('found', ['question_number', 'store_id', 'concept_id', 'asked_on']) }}

select *{% if not concept_id %}, {{ governed_memory.stores_disagree('question_number') }} as stores_disagree{% endif %}
from governed_answers
{%- endmacro %}

{#- With-clauses ending in `found`, one row per question and store, before anybody is told. -#}
{% macro resolved(asked, known_on=none, concept_id=none) -%}
with

asked as (select * from {{ asked }}),

-- numbered anew, since a question may go to several stores
questions as (
    select asked.* exclude (store_id, question_number), stores.store_id, asked.question_number as asked_number, row_number() over () as question_number
    from asked
    inner join {{ governed_memory.relation('stores') }} as stores
        on stores.store_id = coalesce(asked.store_id, stores.store_id)
),

{% if concept_id -%}
concept_records as materialized (
    select * from {{ governed_memory.relation('records') }}
    where concept_id = {{ concept_id }}
),

{% endif -%}
candidates as materialized (
    select
        {% for column in ['store_id', 'record_index', 'record_id', 'concept_id', 'value', 'valid_from', 'valid_to', 'is_validity_known', 'is_withdrawal',
                          'is_restricted', 'release_to', 'applies_to', 'does_not_apply_to', 'source_id', 'written_by', 'recorded_at', 'known_at', 'priority',
                          'conflict_policy'] -%}
        records.{{ column }}{{ ',' if not loop.last }}
        {% endfor %}
    from {{ 'concept_records' if concept_id else governed_memory.relation('records') }} as records
    semi join questions on records.store_id = questions.store_id and records.concept_id = questions.concept_id
    {% if known_on %} where {{ governed_memory.is_known('records.known_at', known_on) }} {% endif %}
),

{% if known_on -%}
{{ governed_memory.standings('candidates', known_on) }},

{% else -%}
standings as (
    select standings.*
    from {{ governed_memory.relation('int_standings') }} as standings
    semi join candidates on standings.store_id = candidates.store_id and standings.record_index = candidates.record_index
),

{% endif -%}
edges as (
    {% if known_on %} {{ governed_memory.edges_known_on(known_on) }}
    {% else %}
    select supersessions.*
    from {{ governed_memory.relation('record_supersessions') }} as supersessions
    semi join candidates on supersessions.store_id = candidates.store_id and supersessions.predecessor_index = candidates.record_index
    {% endif %}
),

{{ governed_memory.stretches() }},

contestants as (
    select
        stretches.*, questions.store_id,
        1 as period_number, 1 as first_period, 1 as last_period, value_number as least_value, value_number as greatest_value
    from stretches
    inner join questions
        on stretches.question_number = questions.question_number and {{ governed_memory.covers('stretches', 'questions.asked_on') }}
),

{{ governed_memory.tallies('contestants') }},

tallied as (
    select tallies.*, coalesce(concepts.cardinality, 'one') as cardinality
    from tallies
    inner join questions on tallies.question_number = questions.question_number
    left join {{ governed_memory.relation('concepts') }} as concepts on questions.concept_id = concepts.concept_id
),

{{ governed_memory.sides('tallied', 'contestants', 'candidates') }},

next_changes as (
    select
        stretches.question_number,
        min(case when stretches.starts_on > questions.asked_on then stretches.starts_on - 1 else stretches.ends_on end) as ends_on
    from stretches
    inner join questions on stretches.question_number = questions.question_number
    where coalesce(stretches.ends_on >= questions.asked_on, true)
    group by all
),

releases as (
    select
        question_number,
        sum(record_count)::bigint as restricted_count,
        list({'release_to': restricted_to, 'record_count': record_count}) as restricted_counts
    from (
        select question_number, restricted_to, count(*) as record_count
        from contestants
        where restricted_to is not null
        group by all
    )
    group by all
),

refused as ({{ governed_memory.refused_concepts('questions', 'candidates', known_on) }}),

{% if known_on -%}
{{ governed_memory.holdings('candidates', 'edges') }},

{% else -%}
holdings as (
    select holdings.*
    from {{ governed_memory.relation('int_concept_holdings') }} as holdings
    semi join questions on holdings.store_id = questions.store_id and holdings.concept_id = questions.concept_id
),

{% endif -%}
found as (
    select
        questions.asked_number as question_number,
        questions.store_id,
        questions.concept_id,
        questions.asked_on,
        questions.asked_scope,
        questions.caller_parties,
        questions.caller_boundary,
        case
            when refused.reason = 'integrity_failed' or refused.reason is not null and holdings.held_count > 0 then 'refused'
            else coalesce(side_lists.resolution, 'empty')
        end as resolution,
        side_lists.sides,
        coalesce(side_lists.for_nobody_count, 0) as for_nobody_count,
        case
            when refused.reason = 'integrity_failed' then [refused.reason]
            when coalesce(holdings.held_count, 0) = 0 then ['not_held']
            when refused.reason is not null then [refused.reason]
            else {{ governed_memory.reason_codes('tallied', 'holdings.known_count', 'side_lists.resolution') }}
        end as reasons,
        case when refused.reason is null then coalesce(tallied.relevant_count, 0) else 0 end as relevant_count,
        case when refused.reason is null then coalesce(releases.restricted_count, 0) else 0 end as restricted_count,
        case when refused.reason is null then releases.restricted_counts end as restricted_counts,
        holdings.holds_open,
        holdings.held_for,
        case when refused.reason is null then next_changes.ends_on end as ends_on
    from questions
    left join holdings on questions.store_id = holdings.store_id and questions.concept_id = holdings.concept_id
    left join refused on questions.store_id = refused.store_id and questions.concept_id = refused.concept_id
    left join tallied on questions.question_number = tallied.question_number
    left join next_changes on questions.question_number = next_changes.question_number
    left join releases on questions.question_number = releases.question_number
    left join side_lists on questions.question_number = side_lists.question_number and refused.reason is null
)
{%- endmacro %}

{#- The supersessions of `candidates` as known on a date. Whether one has effect hangs on the edges onto its two ends, and on loops. -#}
{% macro edges_known_on(known_on) -%}
    with

    looping as (select * from {{ governed_memory.relation('int_looping_edges') }}),

    near_records as (
        select store_id, record_index from candidates
        union
        select edges.store_id, edges.successor_index
        from {{ governed_memory.relation('int_supersession_edges') }} as edges
        semi join candidates on edges.store_id = candidates.store_id and edges.predecessor_index = candidates.record_index
        union
        select store_id, predecessor_index from looping
        union
        select store_id, successor_index from looping
    ),

    near_edges as (
        select edges.*
        from {{ governed_memory.relation('int_supersession_edges') }} as edges
        semi join near_records on edges.store_id = near_records.store_id and edges.predecessor_index = near_records.record_index
    ),

    ineffective as ({{ governed_memory.ineffective_supersessions(known_on, 'near_edges') }})

    select near_edges.*, ineffective.ineffective_reason
    from near_edges
    semi join candidates on near_edges.store_id = candidates.store_id and near_edges.predecessor_index = candidates.record_index
    left join ineffective
        on near_edges.store_id = ineffective.store_id and near_edges.successor_index = ineffective.successor_index
        and near_edges.predecessor_index = ineffective.predecessor_index
    where {{ governed_memory.is_known('near_edges.successor_known_at', known_on) }}
{%- endmacro %}
