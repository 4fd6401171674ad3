{#- At its defaults, on the first and last days of intervals and the days beside them; fifty of them are enough for a large store. -#}
with

intervals as (select * from {{ governed_memory.relation('record_intervals') }}),

boundaries as (
    select in_force_from as day from intervals
    union
    select in_force_from - 1 from intervals
    union
    select in_force_to from intervals
    union
    select in_force_to + 1 from intervals
),

days as (
    select day from boundaries
    where day is not null
    order by md5(cast(day as varchar))
    limit 50
),

function_rows as (
    select days.day, reads.*
    from days, lateral (select * from {{ governed_memory.relation('records_as_of') }}(days.day)) as reads
),

expected_rows as (
    select days.day, intervals.*
    from days
    inner join intervals
        on days.day >= intervals.in_force_from and coalesce(days.day <= intervals.in_force_to, true)
),

{{ governed_memory.rows_that_differ('function_rows', 'expected_rows') }}

select distinct day, store_id, record_index, record_id from differences
