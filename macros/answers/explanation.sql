{#- How an answer came about, in words (G1 to G7): one row per question, store and thing to say, in the order of the steps. Only records that the
    caller may see are spoken of, so a record that a withheld one outranks or ends is said to be outranked or ended, and by what is not. -#}
{% macro explained(asked, known_on=none) -%}
{{ governed_memory.resolved(asked, known_on) }},

{{ governed_memory.disclosed('found', ['question_number', 'store_id', 'concept_id', 'asked_on']) }},

visible as (
    select
        question_records.question_number,
        candidates.store_id,
        candidates.record_index,
        candidates.record_id,
        candidates.valid_from,
        candidates.valid_to,
        candidates.applies_to,
        candidates.does_not_apply_to,
        candidates.is_validity_known,
        question_records.is_in_scope,
        questions.asked_number,
        questions.asked_on
    from questions
    inner join candidates on questions.store_id = candidates.store_id and questions.concept_id = candidates.concept_id
    left join question_records
        on questions.question_number = question_records.question_number and candidates.record_index = question_records.record_index
    left join refused on questions.store_id = refused.store_id and questions.concept_id = refused.concept_id
    where
        not candidates.is_withdrawal
        and refused.reason is null
        and {{ governed_memory.is_visible('candidates.is_restricted', 'candidates.release_to', 'questions.caller_parties', 'questions.caller_boundary') }}
),

-- successors may be of another concept, and are named only where the caller may see them
successors as (
    select
        superseding.question_number,
        superseding.record_index,
        superseding.reason,
        list(distinct records.record_id) filter (
            where {{ governed_memory.is_visible('records.is_restricted', 'records.release_to', 'questions.caller_parties', 'questions.caller_boundary') }}
        ) as visible_ids,
        bool_and(records.is_withdrawal) as are_withdrawals
    from superseding
    inner join questions on superseding.question_number = questions.question_number and coalesce(superseding.begins_on <= questions.asked_on, true)
    inner join edges
        on questions.store_id = edges.store_id and superseding.record_index = edges.predecessor_index
        and superseding.reason = coalesce(edges.ineffective_reason, 'superseded')
        and coalesce(edges.successor_valid_from <= questions.asked_on, true)
        and {{ governed_memory.is_in_scope('edges.successor_applies_to', 'edges.successor_does_not_apply_to', 'questions.asked_scope') }}
    inner join {{ governed_memory.relation('records') }} as records
        on edges.store_id = records.store_id and edges.successor_index = records.record_index
    group by superseding.question_number, superseding.record_index, superseding.reason
),

fates as (
    select
        visible.*,
        standings.contest_level,
        tallied.contest_level as top_level,
        tallied.precedence as top_precedence,
        standings.precedence,
        sides.resolution as side_of,
        superseded.reason is not null as is_superseded,
        superseded.visible_ids as superseded_by,
        superseded.are_withdrawals,
        case
            when not visible.is_validity_known then 0
            when coalesce(visible.valid_from > visible.asked_on, false) then 1
            when not coalesce(visible.valid_to >= visible.asked_on, true) then 1
            else 0
        end = 1 as is_over_or_ahead
    from visible
    inner join standings on visible.store_id = standings.store_id and visible.record_index = standings.record_index
    left join tallied on visible.question_number = tallied.question_number
    left join sides on visible.question_number = sides.question_number and visible.record_index = sides.record_index
    left join successors as superseded
        on visible.question_number = superseded.question_number and visible.record_index = superseded.record_index and superseded.reason = 'superseded'
),

told as (
    select asked_number, store_id, record_id, 1 as step, 'validity_unknown' as code,
        'does not say since when and until when it holds; it counts only where nothing else is left' as explanation
    from fates
    where not is_validity_known
    union all
    select asked_number, store_id, record_id, 1 as step, 'expired' as code,
        case when coalesce(valid_from > asked_on, false) then 'begins only on ' || valid_from else 'held until ' || valid_to end as explanation
    from fates
    where is_over_or_ahead
    union all
    select asked_number, store_id, record_id, 2 as step, 'out_of_scope' as code,
        case
            when applies_to is not null then 'applies only to ' || array_to_string(applies_to, ', ') || coalesce(', not to ' || array_to_string(does_not_apply_to, ', '), '')
            else 'does not apply to ' || array_to_string(does_not_apply_to, ', ')
        end as explanation
    from fates
    where not is_over_or_ahead and not is_in_scope
    union all
    select asked_number, store_id, record_id, 3 as step, 'superseded' as code,
        case when are_withdrawals then 'was withdrawn' else 'was replaced' end || coalesce(' by ' || nullif(array_to_string(list_sort(superseded_by), ', '), ''), '') as explanation
    from fates
    where not is_over_or_ahead and is_in_scope and is_superseded
    union all
    select fates.asked_number, fates.store_id, fates.record_id, 3 as step, successors.reason as code,
        'stands against ' || coalesce(nullif(array_to_string(list_sort(successors.visible_ids), ', '), ''), 'a record') || case successors.reason
            when 'unauthorized_supersession' then ', whose writer did not own the concept'
            else ', which replace each other in a circle'
        end as explanation
    from fates
    inner join successors on fates.question_number = successors.question_number and fates.record_index = successors.record_index
    where not fates.is_over_or_ahead and fates.is_in_scope and successors.reason <> 'superseded'
    union all
    select asked_number, store_id, record_id, 4 as step,
        case
            when side_of = 'decided' then 'answers' when side_of = 'several' then 'one_of_several' when side_of = 'unresolved' then 'rival'
            when contest_level < 2 and top_level >= 2 then 'not_authoritative' when contest_level < top_level then 'validity_unknown'
            when precedence = top_precedence then 'same_value' else 'outranked'
        end as code,
        case
            when side_of = 'decided' then 'is what the rules leave'
            when side_of = 'several' then 'is one of the answers of a concept that has several'
            when side_of = 'unresolved' then 'says something else than another record of the same rank'
            when contest_level < 2 and top_level >= 2 then 'was not written by the owner of the concept, and a record that was is left'
            when contest_level < top_level then 'yields to a record that says since when and until when it holds'
            when precedence = top_precedence then 'says the same as a record that began later or has the greater identifier'
            else 'ranks below another record by the policy of the store, or says the same as a later one'
        end as explanation
    from fates
    where not is_over_or_ahead and is_in_scope and not is_superseded
    union all
    select question_number, store_id, null as record_id, 5 as step, outcome as code,
        case
            when list_contains(reasons, 'not_held') then 'no record is about the concept'
            when list_contains(reasons, 'integrity_failed') then 'something signed of the concept was changed or removed, or cannot be verified, so none is relied on'
            when list_contains(reasons, 'duplicate_record_id') then 'several records share an identifier, so none is relied on'
            when outcome = 'empty' then 'nothing is left that holds for this question on this day'
            when outcome = 'abstained' then 'rivals are left that the policy does not decide between'
            when outcome = 'refused' then 'what the rules leave may not be shown to the caller, and nothing else is offered instead'
            else 'the caller may see what the rules leave'
        end || case
            when withheld_count = 1 then '; 1 record that bears on the question may not be shown'
            when withheld_count > 1 then '; ' || withheld_count || ' records that bear on the question may not be shown'
            else ''
        end as explanation
    from governed_answers
)

select asked_number as question_number, store_id, step, record_id, code, explanation
from told
{%- endmacro %}
