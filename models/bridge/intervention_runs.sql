{{ config(materialized='table') }}
select * exclude (sites, facts, controls)
from {{ governed_memory.relation('stg_bridge_runs') }}
