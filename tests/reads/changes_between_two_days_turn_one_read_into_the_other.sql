{#- What is in force on the first day, less what ended, with what began, is what is in force on the second (T3). On the days that bound
    intervals, one after the other; twenty of them are enough for a large store. -#}
with

intervals as (select * from {{ governed_memory.relation('record_intervals') }}),

boundaries as (
    select in_force_from as day from intervals
    union
    select in_force_to + 1 from intervals
),

chosen as (
    select day from boundaries
    where day is not null
    order by md5(cast(day as varchar))
    limit 20
),

pairs as (
    select
        coalesce(lag(day) over (order by day), day - 1) as first_day,
        day as second_day
    from chosen
),

-- a record counts 1 where it is in force on the second day, -1 where on the first, and against that 1 for its end, -1 for its beginning
counted as (
    select pairs.*, intervals.store_id, intervals.record_index, 1 as counts
    from pairs
    inner join intervals
        on pairs.second_day >= intervals.in_force_from and coalesce(pairs.second_day <= intervals.in_force_to, true)
    union all
    select pairs.*, intervals.store_id, intervals.record_index, -1 as counts
    from pairs
    inner join intervals
        on pairs.first_day >= intervals.in_force_from and coalesce(pairs.first_day <= intervals.in_force_to, true)
    union all
    select pairs.*, changes.store_id, changes.record_index, case changes.kind when 'ended' then 1 else -1 end as counts
    from pairs, lateral (select * from {{ governed_memory.relation('changes_between') }}(pairs.first_day, pairs.second_day)) as changes
    where changes.kind <> 'owner_changed'
)

select
    first_day,
    second_day,
    store_id,
    record_index
from counted
group by all
having sum(counts) <> 0
