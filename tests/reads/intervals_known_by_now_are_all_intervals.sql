{#- As known when the last record became known, everything counts (T6). A store with a record that nobody knows the recording of is left
    out: such a record is seen only by reads without known_on. -#}
{%- set last_known = "(select max(known_at) from " ~ governed_memory.relation('records') ~ ")" -%}
with

undated_stores as (
    select store_id from {{ governed_memory.relation('records') }} where known_at is null
),

view_rows as (
    select * from {{ governed_memory.relation('record_intervals') }}
    anti join undated_stores using (store_id)
),

function_rows as (
    select * from {{ governed_memory.relation('record_intervals_at') }}(known_on := {{ last_known }})
    anti join undated_stores using (store_id)
),

differences as (
    (from view_rows except all from function_rows)
    union all
    (from function_rows except all from view_rows)
)

select distinct store_id, record_index, record_id from differences
