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
    select
        record_rows.*,
        nfc_normalize(record_rows.record_id) as normal_id
    from record_rows
    semi join suspects on hash(record_rows.store_id, nfc_normalize(record_rows.record_id)) = suspects.id_hash
    where record_rows.record_id is not null
),

rows_sharing_id as (
    select
        store_id,
        record_index,
        normal_id,
        row_number() over (
            partition by
                store_id, record_id, concept_id, value_hash,
                valid_from, valid_to, is_valid_to_stated,
                valid_from_problem, valid_to_problem,
                source_id, concept_owner, owner_role, conflict_policy,
                applies_to, does_not_apply_to, release_to, supersedes,
                classification, confidential, restricted,
                policy, rule, priority,
                withdrawal, written_by, recorded_at
            order by record_index
        ) > 1 as is_copy
    from candidates
    qualify count(*) over (partition by store_id, normal_id) > 1
)

select * from rows_sharing_id
