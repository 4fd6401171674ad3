{{ config(materialized='table') }}
-- The giver's row of this build: a table, as it was when the build made it
select
    'build' as step,
    'giver' as side,
    generation,
    root,
    told_at
from {{ governed_memory.relation('build_root') }}
