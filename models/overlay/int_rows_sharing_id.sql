{{ config(materialized='table') }}
{#- Ids are compared in Unicode form NFC. Copies are rows equal in everything the project reads: one record, and a notice. -#}
with

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

-- a hash first: few rows are left to compare as text
suspects as (
    select hash(store_id, nfc_normalize(record_id)) as id_hash
    from record_rows
    where record_id is not null
    group by all
    having count(*) > 1
),

candidates as (
    select *, nfc_normalize(record_id) as normal_id
    from record_rows
    where hash(store_id, nfc_normalize(record_id)) in (select id_hash from suspects) and record_id is not null
),

rows_sharing_id as (
    select
        record_rows.store_id,
        record_rows.record_index,
        record_rows.normal_id,
        row_number() over (
            partition by
                record_rows.store_id, record_rows.record_id, record_rows.concept_id, record_rows.value_hash,
                record_rows.valid_from, record_rows.valid_to, record_rows.is_valid_to_stated,
                record_rows.valid_from_problem, record_rows.valid_to_problem,
                record_rows.source_id, record_rows.concept_owner, record_rows.owner_role, record_rows.conflict_policy,
                record_rows.applies_to, record_rows.does_not_apply_to, record_rows.release_to, record_rows.supersedes,
                record_rows.classification, record_rows.confidential, record_rows.restricted,
                record_rows.policy, record_rows.rule, record_rows.priority,
                record_rows.withdrawal, record_rows.written_by, record_rows.recorded_at
            order by record_rows.record_index
        ) > 1 as is_copy
    from candidates as record_rows
    qualify count(*) over (partition by record_rows.store_id, record_rows.normal_id) > 1
)

select * from rows_sharing_id
