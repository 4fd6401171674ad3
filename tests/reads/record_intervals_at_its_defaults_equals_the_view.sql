{#- Every column is compared; failing rows name the records only (C23). -#}
with

view_rows as (select * from {{ governed_memory.relation('record_intervals') }}),

function_rows as (select * from {{ governed_memory.relation('record_intervals_at') }}()),

differences as (
    (
        select * from view_rows
        except all
        select * from function_rows
    )
    union all
    (
        select * from function_rows
        except all
        select * from view_rows
    )
)

select distinct store_id, record_index, record_id from differences
