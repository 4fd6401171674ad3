{#- A record that ends before it begins is another rule's. -#}
with

periods as (
    select *
    from {{ governed_memory.relation('int_record_periods') }}
    where interval_status = 'never_in_force'
),

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

violations as (
    select
        record_rows.store_id,
        record_rows.record_index,
        {{ governed_memory.offender_of('record_rows') }} as record_id,
        record_rows.concept_id,
        'valid_from' as field,
        'never_in_force' as rule_id,
        null::varchar as detail
    from record_rows
    inner join periods
        on record_rows.store_id = periods.store_id and record_rows.record_index = periods.record_index
    where record_rows.valid_to is null or record_rows.valid_to >= record_rows.valid_from
)

select * from violations
