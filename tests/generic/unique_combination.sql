{#- Rows that share their values in all of the columns; nulls count as equal. Failing rows hold the columns and a count, nothing else. -#}
{% test unique_combination(model, columns) %}
with

validation_errors as (
    select
        {{ columns | join(', ') }},
        count(*) as row_count
    from {{ model }}
    group by {{ columns | join(', ') }}
    having count(*) > 1
)

select * from validation_errors
{% endtest %}
