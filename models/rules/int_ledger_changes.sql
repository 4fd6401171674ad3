{{ config(materialized='table') }}
{#- A table, like findings: the ledger may be in a file that is not attached when it is read. -#}
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
)

select store_id, record_id, is_removed, is_read_alike, changed_fields, erased_fields
from changes
