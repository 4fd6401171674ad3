{#- The view defines and the table serves; they may not drift apart within a build (T4). Failing rows name the records only (C23). -#}
with

view_rows as (select * from {{ governed_memory.relation('record_intervals') }}),

built_rows as (select * from {{ governed_memory.relation('record_intervals_built') }}),

{{ governed_memory.rows_that_differ('view_rows', 'built_rows') }}

select distinct store_id, record_index, record_id from differences
