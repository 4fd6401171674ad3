{{ config(materialized='incremental', unique_key=['store_id', 'built_at'], full_refresh=false, on_schema_change='append_new_columns') }}
{#- Kept from build to build: what an earlier build found cannot be found again. It reads what no check of a level stands before, so that a
    build that misses a level remembers that it did. -#}
with

levels as (select * from {{ governed_memory.relation('store_levels') }}),

counts as (
    select
        store_id,
        sum(error_count) as error_count,
        sum(finding_count - error_count) as warning_count,
        sum(waived_count) as waived_count
    from {{ governed_memory.relation('finding_counts') }}
    group by all
),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

level_history as (
    select
        levels.store_id,
        builds.built_at,
        builds.on_date,
        levels.row_count,
        levels.presence_level,
        levels.level,
        levels.target_level,
        levels.is_met,
        coalesce(counts.error_count, 0)::bigint as error_count,
        coalesce(counts.warning_count, 0)::bigint as warning_count,
        coalesce(counts.waived_count, 0)::bigint as waived_count
    from levels
    cross join builds
    left join counts on levels.store_id = counts.store_id
)

select * from level_history
