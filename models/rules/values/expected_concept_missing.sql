{#- A concept whose records are all withheld from somebody is held all the same: this looks at the store, not at what a caller sees. -#}
with

expected_concepts as (select * from {{ governed_memory.relation('expected_concepts') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

records as (
    select *
    from {{ governed_memory.relation('records') }}
    where not is_withdrawal
),

violations as (
    select
        stores.store_id,
        null::bigint as record_index,
        null::varchar as record_id,
        expected_concepts.concept_id,
        'expected_concepts' as field,
        'expected_concept_missing' as rule_id,
        'concept ' || expected_concepts.concept_id as detail
    from expected_concepts
    inner join stores on stores.store_id = coalesce(expected_concepts.store_id, stores.store_id)
    anti join records
        on stores.store_id = records.store_id and expected_concepts.concept_id = records.concept_id
)

select * from violations
