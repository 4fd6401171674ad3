{#- Intervals cut into periods in which what is in force is constant, as with-clauses ending in `periods` (the keys, question_class_id,
    period_number, starts_on, ends_on) and `members` (the keys, question_class_id, period_number, record_index). Periods follow on each
    other and the last one is open. `intervals` names a clause with the keys, question_class_id, record_index, in_force_from, in_force_to.

    Boundaries are numbered and records joined to them by range, so that a concept with many records does not compare each with each. -#}
{% macro periods(intervals, keys=['store_id', 'concept_id']) -%}
{%- set question = (keys + ['question_class_id']) | join(', ') -%}
boundaries as (
    select distinct {{ question }}, in_force_from as starts_on
    from {{ intervals }}
    union
    select distinct {{ question }}, in_force_to + 1 as starts_on
    from {{ intervals }}
    where in_force_to is not null
),

periods as (
    select
        *,
        row_number() over question as period_number,
        lead(starts_on) over question - 1 as ends_on
    from boundaries
    window question as (partition by {{ question }} order by starts_on)
),

spans as (
    select
        {% for key in keys %} intervals.{{ key }}, {% endfor %}
        intervals.question_class_id,
        intervals.record_index,
        first_periods.period_number as first_number,
        next_periods.period_number as next_number
    from {{ intervals }} as intervals
    inner join periods as first_periods
        on {{ governed_memory.is_same_question('intervals', 'first_periods', keys) }} and intervals.in_force_from = first_periods.starts_on
    left join periods as next_periods
        on {{ governed_memory.is_same_question('intervals', 'next_periods', keys) }} and intervals.in_force_to + 1 = next_periods.starts_on
),

last_numbers as (
    select {{ question }}, max(period_number) as last_number
    from periods
    group by all
),

members as (
    select
        {% for key in keys %} spans.{{ key }}, {% endfor %}
        spans.question_class_id,
        spans.record_index,
        unnest(range(spans.first_number, coalesce(spans.next_number, last_numbers.last_number + 1))) as period_number
    from spans
    inner join last_numbers
        on {{ governed_memory.is_same_question('spans', 'last_numbers', keys) }}
)
{%- endmacro %}

{#- Whether rows of two relations are about one question: the same keys, and the same class or none. -#}
{% macro is_same_question(first, second, keys=['store_id', 'concept_id']) -%}
    {% for key in keys %}{{ first }}.{{ key }} = {{ second }}.{{ key }} and {% endfor -%}
    {{ first }}.question_class_id is not distinct from {{ second }}.question_class_id
{%- endmacro %}
