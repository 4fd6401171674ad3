{#- As known when the last record and the last entry about an owner became known, everything counts (T6). A store with a record that nobody
    knows the recording of is left out: such a record is seen only by reads without known_on. -#}
with

undated_stores as (
    select distinct store_id
    from {{ governed_memory.relation('records') }}
    where known_at is null
),

recordings as (
    select known_at from {{ governed_memory.relation('records') }}
    union all
    select recorded_at as known_at from {{ governed_memory.relation('concept_ownerships') }}
),

last_recordings as (
    select max(known_at) as known_at from recordings
),

view_rows as (
    select intervals.*
    from {{ governed_memory.relation('record_intervals') }} as intervals
    anti join undated_stores on intervals.store_id = undated_stores.store_id
),

function_rows as (
    select intervals.*
    from {{ governed_memory.relation('record_intervals_at') }}(known_on := (select known_at from last_recordings)) as intervals
    anti join undated_stores on intervals.store_id = undated_stores.store_id
),

{{ governed_memory.rows_that_differ('view_rows', 'function_rows') }}

select distinct store_id, record_index, record_id from differences
