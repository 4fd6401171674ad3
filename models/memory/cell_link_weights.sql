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

-- No weight says that two belong together and not how much; half is what M5 counts then. As decimals, whose sum is the same in any order
select
    cells.cell_number,
    sum(coalesce(ends.weight, 0.5)::decimal(18, 9)) as link_weight
from ends
inner join {{ governed_memory.relation('cells') }} as cells on ends.cell_id = cells.cell_id
group by cells.cell_number
