{#- What each record brings to a question while nothing about it changes (G1 to G3), as a clause `stretches`: one row per question, record
    and stretch of days, an open end of which is null.

    contest_level, precedence, recency, value_number   as in `standings`; null where the record does not contest: out of scope or superseded
    reasons      what it raises, as bits of `reason_bits`
    relevant     1 where it is in scope and covers the days, or may
    covering     1 where it is known to cover them

    Names clauses: `questions` (question_number, store_id, concept_id, asked_scope: a list, empty for none), `candidates` (their records),
    `standings`, and `edges` (supersessions with ineffective_reason). -#}
{% macro stretches(questions='questions', candidates='candidates', standings='standings', edges='edges') -%}
{%- set bits = governed_memory.reason_bits() -%}
question_records as (
    select
        questions.question_number,
        questions.asked_scope,
        candidates.store_id,
        candidates.record_index,
        candidates.is_validity_known,
        case when candidates.is_validity_known then candidates.valid_from end as starts_on,
        case when candidates.is_validity_known then candidates.valid_to end as ends_on,
        {{ governed_memory.is_in_scope('candidates.applies_to', 'candidates.does_not_apply_to', 'questions.asked_scope') }} as is_in_scope,
        case when candidates.is_restricted then coalesce(candidates.release_to, []) end as restricted_to
    from {{ questions }} as questions
    inner join {{ candidates }} as candidates
        on questions.store_id = candidates.store_id and questions.concept_id = candidates.concept_id
    where
        not candidates.is_withdrawal
        and (not candidates.is_validity_known or coalesce(candidates.valid_from <= candidates.valid_to, true))
),

-- A successor ends its predecessor for good on its first day; one that says no start counts as begun where its claim fails.
superseding as (
    select
        question_records.question_number,
        question_records.record_index,
        coalesce(edges.ineffective_reason, 'superseded') as reason,
        min(coalesce(edges.successor_valid_from, date '-infinity')) as begins_on
    from question_records
    inner join {{ edges }} as edges
        on question_records.store_id = edges.store_id and question_records.record_index = edges.predecessor_index
    where
        question_records.is_in_scope
        and (edges.ineffective_reason is null or edges.ineffective_reason in ('unauthorized_supersession', 'supersession_cycle', 'cycle_undecided'))
        and {{ governed_memory.is_in_scope('edges.successor_applies_to', 'edges.successor_does_not_apply_to', 'question_records.asked_scope') }}
    group by all
),

ended as (
    select question_number, record_index, begins_on
    from superseding
    where reason = 'superseded'
),

standing as (
    select
        question_records.*,
        ended.begins_on as superseded_from,
        standings.contest_level,
        standings.precedence,
        standings.recency,
        standings.value_number,
        case when question_records.is_validity_known then 0 else {{ bits.validity_unknown }} end as own_reasons,
        case when standings.oversteps then {{ bits.unauthorized_precedence }} else 0 end
        | case when standings.is_writer_not_attested then {{ bits.writer_not_attested }} else 0 end as contest_reasons
    from question_records
    inner join {{ standings }} as standings
        on question_records.store_id = standings.store_id and question_records.record_index = standings.record_index
    left join ended
        on question_records.question_number = ended.question_number and question_records.record_index = ended.record_index
),

pieces as (
    select
        * exclude (ends_on),
        {{ governed_memory.earlier_date('ends_on', 'superseded_from - 1') }} as ends_on,
        own_reasons | contest_reasons as reasons,
        true as is_contestant,
        true as is_relevant
    from standing
    where is_in_scope
    union all by name
    select
        * replace ({{ governed_memory.later_date('starts_on', 'superseded_from') }} as starts_on),
        own_reasons | {{ bits.superseded }} as reasons,
        false as is_contestant,
        true as is_relevant
    from standing
    where is_in_scope and superseded_from is not null
    union all by name
    select
        *,
        own_reasons | {{ bits.out_of_scope }} as reasons,
        false as is_contestant,
        false as is_relevant
    from standing
    where not is_in_scope
),

stretches as (
    select
        question_number,
        record_index,
        starts_on,
        ends_on,
        case when is_contestant then contest_level end as contest_level,
        case when is_contestant then precedence end as precedence,
        case when is_contestant then recency end as recency,
        case when is_contestant then value_number end as value_number,
        reasons,
        is_relevant::integer as relevant,
        is_validity_known::integer as covering,
        case when is_relevant then restricted_to end as restricted_to
    from pieces
    where coalesce(starts_on <= ends_on, true)
    union all by name
    select
        superseding.question_number,
        superseding.record_index,
        {{ governed_memory.later_date('question_records.starts_on', "nullif(superseding.begins_on, date '-infinity')") }} as starts_on,
        question_records.ends_on,
        case superseding.reason
            {% for reason in ['unauthorized_supersession', 'supersession_cycle', 'cycle_undecided'] -%}
            when '{{ reason }}' then {{ bits[reason] }}
            {% endfor %}
        end as reasons,
        0 as relevant,
        0 as covering
    from superseding
    inner join question_records
        on superseding.question_number = question_records.question_number and superseding.record_index = question_records.record_index
    where superseding.reason <> 'superseded' and coalesce(superseding.begins_on <= question_records.ends_on, true)
)
{%- endmacro %}

{#- The reasons that a record or an edge raises, each a bit, in the order of the steps. -#}
{% macro reason_bits() -%}
    {{- return({
        'validity_unknown': 1, 'out_of_scope': 2, 'superseded': 4, 'unauthorized_supersession': 8, 'supersession_cycle': 16,
        'cycle_undecided': 32, 'unauthorized_precedence': 64, 'writer_not_attested': 128,
    }) -}}
{%- endmacro %}
