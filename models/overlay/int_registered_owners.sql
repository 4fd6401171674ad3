{#- A concept that the register names and nobody owns is here too, without a party: whatever its records claim then counts for nothing. -#}
with

register as (select * from {{ governed_memory.relation('concept_ownerships') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

registered_owners as (
    select
        stores.store_id,
        register.concept_id,
        {{ governed_memory.latest_owner('register') }} as party_id
    from register
    cross join builds
    inner join stores on stores.store_id = coalesce(register.store_id, stores.store_id)
    where coalesce(register.valid_from <= builds.on_date, true)
    group by all
)

select * from registered_owners
