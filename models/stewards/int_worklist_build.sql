{{ config(materialized='table') }}
{#- A build that stops before the items leaves those of an earlier one, whose day this keeps. -#}
select
    builds.on_date,
    builds.built_at,
    (select count(*) from {{ governed_memory.relation('int_steward_items') }}) as item_count
from {{ governed_memory.relation('stg_build') }} as builds
