{{ config(materialized='incremental', unique_key=['store_id', 'record_id', 'fingerprint'], full_refresh=false, on_schema_change='append_new_columns') }}
{#- Kept from build to build and never rebuilt: it is the only memory of when a record was first seen, and of what it said then (T6, T10). -#}
with

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

fields as (
    select distinct
        store_id,
        record_id,
        {{ governed_memory.field_fingerprints() }} as field_fingerprints
    from record_rows
    where record_id is not null
),

seen as (
    select
        fields.*,
        md5(array_to_string(fields.field_fingerprints, '|')) as fingerprint,
        {{ governed_memory.reading_fingerprint('stores') }} as reading_fingerprint
    from fields
    inner join stores on fields.store_id = stores.store_id
),

record_ledger as (
    select
        seen.store_id,
        seen.record_id,
        seen.fingerprint,
        {% if is_incremental() -%} coalesce(earlier.first_built_at, builds.built_at) {%- else -%} builds.built_at {%- endif %} as first_built_at,
        builds.built_at as last_built_at,
        seen.field_fingerprints,
        seen.reading_fingerprint
    from seen
    cross join builds
    {% if is_incremental() %}
    left join {{ governed_memory.without_own_database(this) }} as earlier
        on seen.store_id = earlier.store_id and seen.record_id = earlier.record_id and seen.fingerprint = earlier.fingerprint
    {% endif %}
)

select * from record_ledger
