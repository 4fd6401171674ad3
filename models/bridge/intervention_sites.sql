{{ config(materialized='table') }}
select
    run_id,
    unnest(sites, recursive := true)  -- noqa: AL03
from {{ governed_memory.relation('stg_bridge_runs') }}
