{{ config(materialized='table') }}
{#- Copies are rows equal in everything the project reads: one record, and a notice. -#}
with

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

shared_ids as (select * from {{ governed_memory.relation('int_shared_ids') }}),

candidates as (
    select
        record_rows.*,
        shared_ids.normal_id
    from record_rows
    inner join shared_ids
        on record_rows.store_id = shared_ids.store_id and record_rows.record_index = shared_ids.record_index
),

rows_sharing_id as (
    select
        store_id,
        record_index,
        normal_id,
        row_number() over (
            partition by
                store_id, record_id, concept_id, value_hash,
                valid_from, valid_to, is_valid_to_stated, valid_from_problem, valid_to_problem,
                source_id, concept_owner, owner_role, conflict_policy,
                applies_to, does_not_apply_to, release_to, supersedes,
                classification, confidential, restricted, policy, rule, priority,
                withdrawal, written_by, recorded_at
            order by record_index
        ) > 1 as is_copy
    from candidates
)

select * from rows_sharing_id
