{{ config(materialized='table') }}
{#- A record must go on saying what it said when a build first saw it (T10). One that says that again, as after a repair, passes; so does one of
    which exactly what a redaction names was erased, and says what the redaction put there (L8). -#}
with

stores as (select * from {{ governed_memory.relation('stores') }}),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

ledger as (
    select
        record_ledger.*,
        record_ledger.last_built_at = builds.built_at as is_current
    from {{ governed_memory.relation('record_ledger') }} as record_ledger
    cross join builds
    semi join stores on record_ledger.store_id = stores.store_id
),

originals as (
    select *
    from ledger
    qualify first_built_at = min(first_built_at) over (partition by store_id, record_id)
),

current_contents as (
    select * from ledger
    where is_current
),

differences as (
    select
        originals.store_id,
        originals.record_id,
        current_contents.record_id is null as is_removed,
        current_contents.reading_fingerprint = originals.reading_fingerprint as is_read_alike,
        originals.field_fingerprints as first_fields,
        current_contents.field_fingerprints as current_fields
    from originals
    left join current_contents
        on originals.store_id = current_contents.store_id and originals.record_id = current_contents.record_id
    where not originals.is_current
),

redacted as (
    select store_id, record_id, list(field_fingerprint) as fields
    from {{ governed_memory.relation('redactions') }}
    group by all
),

explained as (
    select
        differences.*,
        -- fields that read exactly what a redaction put there
        coalesce(list_intersect(redacted.fields, differences.current_fields), []) as erased_fields
    from differences
    left join redacted
        on differences.store_id = redacted.store_id and differences.record_id = redacted.record_id
),

changes as (
    select
        *,
        list_filter(
            list_transform(
                list_filter(first_fields, lambda field: not list_contains(current_fields, field)), lambda field: split_part(field, '=', 1)
            ),
            lambda field: not list_contains(list_transform(erased_fields, lambda erased: split_part(erased, '=', 1)), field)
        ) as changed_fields
    from explained
),

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
