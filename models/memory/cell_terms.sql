{{ config(materialized='table') }}
-- In the order of the terms, so that a look-up of one reads little
select
    unnest(terms) as term,
    cell_number
from {{ governed_memory.relation('cells') }}
order by term, cell_number
