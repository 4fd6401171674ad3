{#- Periods that end before they begin, or end without beginning; a null end is open. -#}
{% test period_not_inverted(model, starts_on, ends_on, key) %}
with

validation_errors as (
    select
        {{ key | join(', ') }},
        {{ starts_on }},
        {{ ends_on }}
    from {{ model }}
    where {{ ends_on }} < {{ starts_on }} or ({{ starts_on }} is null and {{ ends_on }} is not null)
)

select * from validation_errors
{% endtest %}
