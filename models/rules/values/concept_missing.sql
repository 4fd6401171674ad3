{#- Asked only of stores in which some record names a concept. -#}
with

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

naming as (
    select distinct store_id
    from record_rows
    where concept_id is not null
),

violations as (
    select
        record_rows.store_id,
        record_rows.record_index,
        {{ governed_memory.offender_of('record_rows') }} as record_id,
        record_rows.concept_id,
        'concept' as field,
        'concept_missing' as rule_id,
        null::varchar as detail
    from record_rows
    inner join naming on record_rows.store_id = naming.store_id
    where record_rows.concept_id is null
)

select * from violations
