{#- One policy per store is enough, in any record or declared beside them. -#}
with

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

silent as (
    select store_id
    from record_rows
    group by store_id
    having not bool_or(states_policy)
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
    inner join silent on stores.store_id = silent.store_id
    where stores.policy_id is null
)

select * from violations
