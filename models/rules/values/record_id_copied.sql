with

copies as (
    select * from {{ governed_memory.relation('int_rows_sharing_id') }}
    where is_copy
),

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

violations as (
    select
        copies.store_id,
        copies.record_index,
        record_rows.record_id,
        record_rows.concept_id,
        'record_id' as field,
        'record_id_copied' as rule_id,
        'row ' || copies.record_index as detail
    from copies
    inner join record_rows
        on copies.store_id = record_rows.store_id and copies.record_index = record_rows.record_index
)

select * from violations
