{#- int_record_periods is record_intervals with fewer columns: same records, same periods. -#}
with

periods as (from {{ governed_memory.relation('int_record_periods') }}),

intervals as (
    select
        {% for column in adapter.get_columns_in_relation(ref('governed_memory', 'int_record_periods')) if execute -%}
        {{ column.name }},
        {% else -%} * {% endfor %}
    from {{ governed_memory.relation('record_intervals') }}
),

{{ governed_memory.rows_that_differ('periods', 'intervals') }}

select distinct store_id, record_index from differences
