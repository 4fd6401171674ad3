with

shared as (
    select * from {{ governed_memory.relation('int_rows_sharing_id') }}
    where not is_copy
    qualify count(*) over (partition by store_id, normal_id) > 1
),

records as (select * from {{ governed_memory.relation('records') }}),

violations as (
    select
        shared.store_id,
        shared.record_index,
        records.record_id,
        records.concept_id,
        'record_id' as field,
        'record_id_duplicated' as rule_id,
        null::varchar as detail
    from shared
    inner join records
        on shared.store_id = records.store_id and shared.record_index = records.record_index
)

select * from violations
