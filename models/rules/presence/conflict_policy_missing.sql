{#- One policy per store is enough, in any record or declared beside them. -#}
with

stores as (select * from {{ governed_memory.relation('stores') }}),

stating as (
    select distinct store_id
    from {{ governed_memory.relation('record_rows') }}
    where conflict_policy is not null
),

violations as (
    select
        stores.store_id,
        null::bigint as record_index,
        null::varchar as record_id,
        null::varchar as concept_id,
        'conflict_policy' as field,
        'conflict_policy_missing' as rule_id,
        'no conflict policy anywhere in the store' as detail
    from stores
    anti join stating on stores.store_id = stating.store_id
    where stores.policy_id is null
)

select * from violations
