{#- Answers to questions that are a lookup: at most one class of scope, as known now. `asked` is a relation of question_number, store_id
    (null for every store), concept_id, asked_on, asked_scope (a list, empty for none), caller_parties (a list) and caller_boundary. One row per question and
    store. -#}
{% macro looked_up(asked) -%}
with

asked as (select * from {{ asked }}),

questions as (
    select asked.* exclude (store_id), stores.store_id
    from asked
    inner join {{ governed_memory.relation('stores') }} as stores
        on stores.store_id = coalesce(asked.store_id, stores.store_id)
),

-- a class that the concept does not name has the answer that holds without one
found as (
    select
        questions.question_number,
        questions.store_id,
        questions.concept_id,
        questions.asked_on,
        questions.asked_scope,
        questions.caller_parties,
        questions.caller_boundary,
        segments.* exclude (store_id, concept_id),
        coalesce(segments.resolution, 'empty') as resolution_found,
        coalesce(segments.reasons, ['not_held']) as reasons_found
    from questions
    left join {{ governed_memory.relation('concept_segments') }} as segments
        on questions.store_id = segments.store_id and questions.concept_id = segments.concept_id
        and (segments.question_class_id is null or segments.question_class_id = questions.asked_scope[1])
        and coalesce(segments.starts_on <= questions.asked_on, true) and coalesce(segments.ends_on >= questions.asked_on, true)
    qualify (segments.question_class_id is not null) = bool_or(segments.question_class_id is not null) over (partition by questions.question_number, questions.store_id)
),

resolved as (
    select * exclude (resolution, reasons, resolution_found, reasons_found), resolution_found as resolution, reasons_found as reasons
    from found
),

{{ governed_memory.disclosed('resolved', ['question_number', 'store_id', 'concept_id', 'asked_on'], ['question_number']) }}

select * from governed_answers
{%- endmacro %}

{#- Answers to any questions, worked out from the records: with several classes of scope, or as known on a date (T6). `asked` as for
    `looked_up`; known_on holds for all of them. -#}
{% macro worked_out(asked, known_on=none) -%}
with

asked as (select * from {{ asked }}),

-- numbered anew, since a question may go to several stores
questions as (
    select asked.* exclude (store_id, question_number), stores.store_id, asked.question_number as asked_number, row_number() over () as question_number
    from asked
    inner join {{ governed_memory.relation('stores') }} as stores
        on stores.store_id = coalesce(asked.store_id, stores.store_id)
),

candidates as (
    select records.*
    from {{ governed_memory.relation('records') }} as records
    semi join questions on records.store_id = questions.store_id and records.concept_id = questions.concept_id
    {% if known_on %} where {{ governed_memory.is_known('records.known_at', known_on) }} {% endif %}
),

{{ governed_memory.standings('candidates', known_on) }},

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
    select *, 1 as period_number, 1 as first_period, 1 as last_period, value_number as least_value, value_number as greatest_value
    from stretches
    semi join questions
        on stretches.question_number = questions.question_number
        and coalesce(stretches.starts_on <= questions.asked_on, true) and coalesce(stretches.ends_on >= questions.asked_on, true)
),

{{ governed_memory.tallies('contestants') }},

tallied as (
    select tallies.*, coalesce(concepts.cardinality, 'one') as cardinality
    from tallies
    inner join questions on tallies.question_number = questions.question_number
    left join {{ governed_memory.relation('concepts') }} as concepts on questions.concept_id = concepts.concept_id
),

{{ governed_memory.sides('tallied', 'contestants') }},

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
    select question_number, list({'release_to': restricted_to, 'record_count': record_count}) as restricted_counts
    from (
        select question_number, restricted_to, count(*) as record_count
        from contestants
        where restricted_to is not null
        group by all
    )
    group by all
),

refused as (
    select distinct candidates.store_id, candidates.concept_id, 'duplicate_record_id' as reason
    from candidates
    semi join ({{ governed_memory.clashing_rows(known_on) }}) as clashing
        on candidates.store_id = clashing.store_id and candidates.record_index = clashing.record_index
),

held as (
    select store_id, concept_id, is_validity_known, is_restricted, release_to, is_withdrawal, true as is_own
    from candidates
    union all
    select candidates.store_id, candidates.concept_id, false, successors.is_restricted, successors.release_to, true, false
    from edges
    inner join candidates on edges.store_id = candidates.store_id and edges.predecessor_index = candidates.record_index
    inner join {{ governed_memory.relation('records') }} as successors
        on edges.store_id = successors.store_id and edges.successor_index = successors.record_index
),

holdings as (
    select
        store_id,
        concept_id,
        count(*) filter (where is_own and not is_withdrawal) as held_count,
        count(*) filter (where is_own and not is_withdrawal and is_validity_known) as known_count,
        bool_or(not is_restricted) as holds_open,
        list(distinct coalesce(release_to, [])) filter (where is_restricted) as held_for
    from held
    group by all
),

resolved as (
    select
        questions.asked_number as question_number,
        questions.store_id,
        questions.concept_id,
        questions.asked_on,
        questions.asked_scope,
        questions.caller_parties,
        questions.caller_boundary,
        case when refused.reason is not null and holdings.held_count > 0 then 'refused' else coalesce(sides.resolution, 'empty') end as resolution,
        case
            when coalesce(holdings.held_count, 0) = 0 then ['not_held']
            when refused.reason is not null then [refused.reason]
            else {{ governed_memory.reason_codes('tallied', 'holdings.known_count', 'sides.resolution') }}
        end as reasons,
        case when refused.reason is null then coalesce(tallied.relevant_count, 0) else 0 end as relevant_count,
        case when refused.reason is null then releases.restricted_counts end as restricted_counts,
        holdings.holds_open,
        holdings.held_for,
        case when refused.reason is null then next_changes.ends_on end as ends_on,
        records.record_id,
        records.value,
        records.source_id,
        records.valid_from,
        records.is_restricted,
        records.release_to
    from questions
    left join holdings on questions.store_id = holdings.store_id and questions.concept_id = holdings.concept_id
    left join refused on questions.store_id = refused.store_id and questions.concept_id = refused.concept_id
    left join tallied on questions.question_number = tallied.question_number
    left join next_changes on questions.question_number = next_changes.question_number
    left join releases on questions.question_number = releases.question_number
    left join sides on questions.question_number = sides.question_number and refused.reason is null
    left join {{ governed_memory.relation('records') }} as records
        on questions.store_id = records.store_id and sides.record_index = records.record_index
),

{{ governed_memory.disclosed('resolved', ['question_number', 'store_id', 'concept_id', 'asked_on'], ['question_number']) }}

select * from governed_answers
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

{#- What Python asks a question with, without the schema: the relation of questions stands for __asked__, the date of knowledge for __known__,
    and for a file of one audience its parties for __parties__ and its boundary for __boundary__. -#}
{% macro answer_fragments() -%}
    {{- return({
        'looked_up': governed_memory.looked_up('(__asked__)'),
        'worked_out': governed_memory.worked_out('(__asked__)'),
        'worked_out_as_known': governed_memory.worked_out('(__asked__)', '__known__'),
        'visible_records': governed_memory.visible_records(),
        'visible_answers': governed_memory.visible_answers(),
        'audience_answers': governed_memory.audience_answers('__parties__', '__boundary__'),
        'audience_answers_as_of': governed_memory.audience_answers_as_of(),
        'audience_answers_in_class': governed_memory.audience_answers_as_of('question_class'),
    }) -}}
{%- endmacro %}
