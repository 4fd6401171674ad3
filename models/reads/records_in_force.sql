with

intervals as (select * from {{ governed_memory.relation('record_intervals_built') }}),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

records_in_force as (
    select intervals.*
    from intervals
    inner join builds
        on intervals.in_force_from <= builds.on_date and coalesce(intervals.in_force_to >= builds.on_date, true)
)

select * from records_in_force
