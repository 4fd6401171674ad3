{#- Every column is compared; failing rows name the records only (C23). -#}
with

view_rows as (select * from {{ governed_memory.relation('record_intervals') }}),

function_rows as (select * from {{ governed_memory.relation('record_intervals_at') }}()),

{{ governed_memory.rows_that_differ('view_rows', 'function_rows') }}

select distinct store_id, record_index, record_id from differences
