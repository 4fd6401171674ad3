{#- Owners are taken from the register where it names the concept, else from what the records in force claim. A stretch of one owner's
    days that meets another owner's is one too many. -#}
with

owner_stretches as (select * from {{ governed_memory.relation('int_owner_stretches') }}),

register as (
    select *
    from {{ governed_memory.relation('concept_ownerships') }}
    where party_id is not null
),

stores as (select * from {{ governed_memory.relation('stores') }}),

overlapping as (
    select
        *,
        max(ends_on) over (question rows between unbounded preceding and 1 preceding) >= starts_on
        or min(starts_on) over (question rows between 1 following and unbounded following) <= ends_on as is_overlapping
    from owner_stretches
    window question as (partition by store_id, concept_id order by starts_on, concept_owner, stretch_number)
),

doubly_registered as (
    select
        store_id,
        concept_id
    from register
    group by store_id, concept_id, coalesce(valid_from, date '0001-01-01')
    having count(distinct party_id) > 1
),

disputes as (
    select
        store_id,
        record_index,
        {{ governed_memory.offender() }} as record_id,
        concept_id,
        'two owners in force on one day' as detail
    from overlapping
    where is_overlapping
    union all
    select distinct
        stores.store_id,
        null::bigint as record_index,
        null::varchar as record_id,
        doubly_registered.concept_id,
        'the register gives concept ' || doubly_registered.concept_id || ' two owners from one day' as detail
    from doubly_registered
    inner join stores
        on stores.store_id = coalesce(doubly_registered.store_id, stores.store_id)
),

violations as (
    select
        store_id,
        record_index,
        record_id,
        concept_id,
        'concept_owner' as field,
        'concept_owner_ambiguous' as rule_id,
        detail
    from disputes
)

select * from violations
