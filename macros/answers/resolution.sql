{#- What is left of every question after the steps that do not ask who the caller is (G1 to G4, G10), as a clause `tallies`: one row per
    question and period. `rows` names a clause of stretches, or of sums of stretches, with period_number; all that is taken here is a
    greatest, a least, a sum or a union of bits, so that sums of sums come out alike. -#}
{% macro tallies(rows) -%}
levels as (
    select
        question_number,
        period_number,
        contest_level,
        max(precedence) as precedence,
        max(recency) as recency,
        min(least_value) as least_value,
        max(greatest_value) as greatest_value,
        bit_or(reasons) as reasons,
        sum(relevant)::bigint as relevant,
        sum(covering)::bigint as covering
    from {{ rows }}
    group by question_number, period_number, contest_level
),

tallies as (
    select
        question_number,
        period_number,
        max(contest_level) as contest_level,
        arg_max(precedence, contest_level) as precedence,
        arg_max(recency, contest_level) as recency,
        arg_max(least_value, contest_level) = arg_max(greatest_value, contest_level) as is_of_one_value,
        bit_or(reasons) as reasons,
        sum(relevant)::bigint as relevant_count,
        sum(covering)::bigint as covering_count
    from levels
    group by question_number, period_number
)
{%- endmacro %}

{#- The records that are left (G4, G10), as a clause `side_lists`: one row per question and period, with a list of its sides; none where
    nothing is left. `tallied` names tallies with `cardinality`; `contestants` stretches with store_id, first_period and last_period;
    `records` what the sides are described from.

    Equal values do not conflict: the most recent answers. Else the highest precedence is left; where its values are equal, the most recent
    of them answers. Of a concept with several answers each stands for itself. -#}
{% macro sides(tallied, contestants, records) -%}
{%- set in_period = 'contestants.question_number = tallied.question_number'
    ~ ' and tallied.period_number between contestants.first_period and contestants.last_period' -%}
ranked_sides as (
    select
        tallied.question_number,
        tallied.period_number,
        contestants.store_id,
        contestants.record_index,
        contestants.recency,
        contestants.value_number
    from {{ tallied }} as tallied
    inner join {{ contestants }} as contestants
        on {{ in_period }} and tallied.precedence = contestants.precedence
    where tallied.cardinality = 'one' and not tallied.is_of_one_value
),

decided_by_rank as (
    select question_number, period_number, max(recency) as recency
    from ranked_sides
    group by all
    having min(value_number) = max(value_number)
),

sides as (
    select
        tallied.question_number,
        tallied.period_number,
        contestants.store_id,
        contestants.record_index,
        'decided' as resolution
    from {{ tallied }} as tallied
    inner join {{ contestants }} as contestants
        on {{ in_period }} and tallied.recency = contestants.recency
    where tallied.cardinality = 'one' and tallied.is_of_one_value
    union all
    select
        ranked_sides.question_number,
        ranked_sides.period_number,
        ranked_sides.store_id,
        ranked_sides.record_index,
        case when decided_by_rank.recency is null then 'unresolved' else 'decided' end as resolution
    from ranked_sides
    left join decided_by_rank
        on ranked_sides.question_number = decided_by_rank.question_number and ranked_sides.period_number = decided_by_rank.period_number
    where coalesce(ranked_sides.recency = decided_by_rank.recency, true)
    union all
    select
        tallied.question_number,
        tallied.period_number,
        contestants.store_id,
        contestants.record_index,
        'several' as resolution
    from {{ tallied }} as tallied
    inner join {{ contestants }} as contestants
        on {{ in_period }} and tallied.contest_level = contestants.contest_level
    where tallied.cardinality = 'several'
),

described as (
    select
        sides.*,
        {
            'record_id': records.record_id, 'value': records.value, 'source_id': records.source_id, 'valid_from': records.valid_from,
            'is_restricted': records.is_restricted, 'release_to': records.release_to
        } as side,
        (records.is_restricted and coalesce(len(records.release_to), 0) = 0)::bigint as is_for_nobody
    from sides
    inner join {{ records }} as records
        on sides.store_id = records.store_id and sides.record_index = records.record_index
),

-- nearly every period has one side, which needs no gathering
side_lists as (
    select question_number, period_number, resolution, [side] as sides, is_for_nobody as for_nobody_count
    from described
    where resolution = 'decided'
    union all
    select
        question_number,
        period_number,
        resolution,
        list(side order by side.record_id, record_index) as sides,
        sum(is_for_nobody)::bigint as for_nobody_count
    from described
    where resolution <> 'decided'
    group by question_number, period_number, resolution
)
{%- endmacro %}

{#- The reason codes of a resolution, in the order of the steps. `known_count` is how many records say since when and until when. -#}
{% macro reason_codes(tallied, known_count, resolution) -%}
{%- set bits = governed_memory.reason_bits() -%}
{%- set raised = {
    'expired': known_count ~ ' > coalesce(' ~ tallied ~ '.covering_count, 0)',
    'unauthorized_precedence': tallied ~ '.reasons & ' ~ bits.unauthorized_precedence ~ ' > 0 and ' ~ tallied ~ '.contest_level >= 2',
    'no_authoritative_record': tallied ~ '.contest_level < 2',
    'conflict_unresolved': resolution ~ " = 'unresolved'",
} -%}
    list_filter([
        {% for code in ['expired', 'validity_unknown', 'out_of_scope', 'superseded', 'unauthorized_supersession', 'supersession_cycle',
                        'cycle_undecided', 'unauthorized_precedence', 'writer_not_attested', 'no_authoritative_record', 'conflict_unresolved'] -%}
        case when {{ raised.get(code, tallied ~ '.reasons & ' ~ bits.get(code, 0) ~ ' > 0') }} then '{{ code }}' end{{ ',' if not loop.last }}
        {% endfor %}
    ], lambda code: code is not null)
{%- endmacro %}
