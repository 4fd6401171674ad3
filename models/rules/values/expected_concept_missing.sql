{#- A concept whose records are all withheld from somebody is held all the same: this looks at the store, not at what a caller sees. -#}
with

stores as (select * from {{ governed_memory.relation('stores') }}),

-- once, also where it is expected of all stores and of this one
expected as (
    select distinct stores.store_id, expected_concepts.concept_id
    from {{ governed_memory.relation('expected_concepts') }} as expected_concepts
    inner join stores on stores.store_id = coalesce(expected_concepts.store_id, stores.store_id)
),

records as (
    select *
    from {{ governed_memory.relation('records') }}
    where not is_withdrawal
),

violations as (
    select
        expected.store_id,
        null::bigint as record_index,
        null::varchar as record_id,
        expected.concept_id,
        'expected_concepts' as field,
        'expected_concept_missing' as rule_id,
        'concept ' || expected.concept_id as detail
    from expected
    anti join records
        on expected.store_id = records.store_id and expected.concept_id = records.concept_id
)

select * from violations
