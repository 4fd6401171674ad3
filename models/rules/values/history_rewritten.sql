{{ config(materialized='table') }}
{#- A record must go on saying what it said when a build first saw it (T10). One that says that again, as after a repair, passes; so does one of
    which exactly what a redaction names was erased, and says what the redaction put there (L8). -#}
with

changes as (select * from {{ governed_memory.relation('int_ledger_changes') }}),

-- where several rows share the id, the one that has changed least
rewritten as (
    select
        store_id,
        record_id,
        bool_and(is_removed) as is_removed,
        arg_min(changed_fields, (len(changed_fields), changed_fields)) as changed_fields
    from changes
    where is_removed or (is_read_alike and (len(changed_fields) > 0 or len(erased_fields) = 0))
    group by all
),

places as (
    select
        record_rows.store_id,
        record_rows.record_id,
        min(record_rows.record_index) as first_index,
        arg_min(record_rows.concept_id, record_rows.record_index) as concept_id
    from {{ governed_memory.relation('record_rows') }} as record_rows
    semi join rewritten
        on record_rows.store_id = rewritten.store_id and record_rows.record_id = rewritten.record_id
    group by all
),

violations as (
    select
        rewritten.store_id,
        places.first_index as record_index,
        rewritten.record_id,
        places.concept_id,
        'record_id' as field,
        'history_rewritten' as rule_id,
        case when rewritten.is_removed then 'removed' else 'changed: ' || array_to_string(rewritten.changed_fields, ', ') end as detail
    from rewritten
    left join places
        on rewritten.store_id = places.store_id and rewritten.record_id = places.record_id
)

select * from violations
