{#- Periods of one partition that share a day, both ends inclusive and a null end open. Several rows with one and the same period are
    sides of that period and no overlap. With has_gaps: false, days between two periods are errors too, and the last one is open. -#}
{% test periods_do_not_overlap(model, starts_on, ends_on, partition_by, has_gaps=true) %}
with

periods as (
    select distinct
        {{ partition_by | join(', ') }},
        {{ starts_on }} as starts_on,
        {{ ends_on }} as ends_on
    from {{ model }}
),

neighbours as (
    select
        *,
        lead(starts_on) over (partition by {{ partition_by | join(', ') }} order by starts_on, ends_on nulls last) as next_starts_on
    from periods
),

judged as (
    select
        *,
        next_starts_on is null or coalesce(ends_on < next_starts_on, false) as is_apart_from_next,
        {% if has_gaps %} true {% else %} (next_starts_on - 1) is not distinct from ends_on {% endif %} as is_adjacent_to_next
    from neighbours
),

validation_errors as (
    select * from judged
    where not (is_apart_from_next and is_adjacent_to_next)
)

select * from validation_errors
{% endtest %}
