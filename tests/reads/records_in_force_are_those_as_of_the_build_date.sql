with

builds as (select * from {{ governed_memory.relation('stg_build') }}),

view_rows as (select * from {{ governed_memory.relation('records_in_force') }}),

function_rows as (
    select reads.*
    from builds, lateral (select * from {{ governed_memory.relation('records_as_of') }}(builds.on_date)) as reads
),

{{ governed_memory.rows_that_differ('view_rows', 'function_rows') }}

select distinct store_id, record_index, record_id from differences
