{#- Owners are taken from the register where it names the concept, else from what the records in force claim. A stretch of one owner's
    days that meets another owner's is one too many. -#}
with

owner_stretches as (select * from {{ governed_memory.relation('int_owner_stretches') }}),

-- an entry without a store is one of every store
register as (
    select
        stores.store_id,
        ownerships.concept_id,
        ownerships.party_id,
        ownerships.valid_from,
        ownerships.recorded_at
    from {{ governed_memory.relation('concept_ownerships') }} as ownerships
    inner join {{ governed_memory.relation('stores') }} as stores
        on stores.store_id = coalesce(ownerships.store_id, stores.store_id)
),

overlapping as (
    select
        *,
        max(ends_on) over (question rows between unbounded preceding and 1 preceding) >= starts_on
        or min(starts_on) over (question rows between 1 following and unbounded following) <= ends_on as is_overlapping
    from owner_stretches
    window question as (partition by store_id, concept_id order by starts_on, concept_owner, stretch_number)
),

-- entries of one day that were recorded at different times are a correction: the later one holds (T8)
doubly_registered as (
    select
        store_id,
        concept_id
    from register
    group by store_id, concept_id, valid_from, recorded_at
    having count(distinct coalesce(party_id, '')) > 1
),

-- one per concept, however many of its records name them
listed as (
    select
        store_id,
        min(record_index) as record_index,
        arg_min({{ governed_memory.offender() }}, record_index) as record_id,
        concept_id
    from {{ governed_memory.relation('record_rows') }}
    where {{ governed_memory.names_several_owners() }}
    group by store_id, concept_id
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
        store_id,
        null::bigint as record_index,
        null::varchar as record_id,
        concept_id,
        'the register gives concept ' || concept_id || ' two owners from one day' as detail
    from doubly_registered
    union all
    select
        store_id,
        record_index,
        record_id,
        concept_id,
        'a record names several owners' as detail
    from listed
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
