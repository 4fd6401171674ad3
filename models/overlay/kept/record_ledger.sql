{{ config(materialized='incremental', unique_key=['store_id', 'record_id', 'fingerprint'], full_refresh=false, on_schema_change='fail') }}
{#- Kept from build to build and never rebuilt: it is the only memory of when a record was first seen (T6, T10). -#}
with

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

seen as (
    select distinct
        store_id,
        record_id,
        {{ governed_memory.record_fingerprint() }} as fingerprint
    from record_rows
    where record_id is not null
),

record_ledger as (
    select
        seen.store_id,
        seen.record_id,
        seen.fingerprint,
        {% if is_incremental() -%} coalesce(earlier.first_built_at, builds.built_at) {%- else -%} builds.built_at {%- endif %} as first_built_at,
        builds.built_at as last_built_at
    from seen
    cross join builds
    {% if is_incremental() %}
    left join {{ governed_memory.without_own_database(this) }} as earlier
        on seen.store_id = earlier.store_id and seen.record_id = earlier.record_id and seen.fingerprint = earlier.fingerprint
    {% endif %}
)

select * from record_ledger
