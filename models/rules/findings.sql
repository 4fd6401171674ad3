{{ config(materialized='table') }}
with

offenders as (select * from {{ governed_memory.relation('int_offenders_judged') }}),

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

claimed as (
    select
        offenders.*,
        record_rows.concept_owner as claimed_owner,
        record_rows.owner_role as claimed_role
    from offenders
    left join record_rows
        on offenders.store_id = record_rows.store_id and offenders.record_index = record_rows.record_index
),

{{ governed_memory.acting('claimed') }},

findings as (
    select
        store_id,
        record_index,
        record_id,
        concept_id,
        field,
        rule_id,
        kind,
        level,
        requirement,
        severity,
        is_waived,
        is_baselined,
        is_required,
        detail,
        fingerprint,
        party_id,
        party_role
    from acting
)

select * from findings
