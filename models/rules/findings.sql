{{ config(materialized='table') }}
{#- Who must act (L5): the concept's owner in the register on the build's date; where the register does not name the concept, the owner the
    record claims; else the store's steward. -#}
with

offenders as (select * from {{ governed_memory.relation('int_offenders_judged') }}),

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

parties as (select * from {{ governed_memory.relation('parties') }}),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

owners as (
    select
        stores.store_id,
        register.concept_id,
        {{ governed_memory.latest_owner('register') }} as party_id
    from {{ governed_memory.relation('concept_ownerships') }} as register
    cross join builds
    inner join stores on stores.store_id = coalesce(register.store_id, stores.store_id)
    where coalesce(register.valid_from <= builds.on_date, true)
    group by all
),

routed as (
    select
        offenders.*,
        -- an entry without a party says that nobody owns the concept, whatever a record claims
        case when owners.concept_id is null then record_rows.concept_owner else owners.party_id end as owner_party,
        case when owners.party_id is null or owners.party_id = record_rows.concept_owner then record_rows.owner_role end as claimed_role,
        stores.steward_party,
        stores.steward_role
    from offenders
    inner join stores on offenders.store_id = stores.store_id
    left join record_rows
        on offenders.store_id = record_rows.store_id and offenders.record_index = record_rows.record_index
    left join owners
        on offenders.concept_id = owners.concept_id and offenders.store_id = owners.store_id
),

findings as (
    select
        routed.store_id,
        routed.record_index,
        routed.record_id,
        routed.concept_id,
        routed.field,
        routed.rule_id,
        routed.kind,
        routed.level,
        routed.requirement,
        routed.severity,
        routed.is_waived,
        routed.is_baselined,
        routed.is_required,
        routed.detail,
        routed.fingerprint,
        coalesce(routed.owner_party, routed.steward_party) as party_id,
        case when routed.owner_party is not null then coalesce(parties.owner_role, routed.claimed_role) else routed.steward_role end as party_role
    from routed
    left join parties on routed.owner_party = parties.party_id
)

select * from findings
