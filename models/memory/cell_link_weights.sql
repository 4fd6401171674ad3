{{ config(materialized='table') }}
with

ends as (
    select
        from_cell_id as cell_id,
        weight
    from {{ governed_memory.relation('links') }}
    union all
    select
        to_cell_id as cell_id,
        weight
    from {{ governed_memory.relation('links') }}
)

-- No weight says that two belong together and not how much; half is what M5 counts then. Summed as decimals, so that the order in which links
-- come changes nothing, and not cut, so that more may be added. By cell_id: a link may be read before its cell, which another writer wrote
select
    cell_id,
    sum(coalesce(try_cast(weight as decimal(18, 12)), 0.5)) as link_weight
from ends
group by cell_id
