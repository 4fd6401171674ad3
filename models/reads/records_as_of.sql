{{ config(materialized='table_functions', overloads=['on_date', 'on_date, known_on, scope := null', 'on_date, scope']) }}
{#- The first and usual way only scans what the build has worked out. -#}
select *
from {{ governed_memory.relation('record_intervals_built') }}
where in_force_from <= cast(on_date as date) and (in_force_to is null or in_force_to >= cast(on_date as date))
;
select *
from ({{ governed_memory.intervals('known_on', 'scope') }})
where in_force_from <= cast(on_date as date) and (in_force_to is null or in_force_to >= cast(on_date as date))
;
select *
from ({{ governed_memory.intervals(none, 'scope') }})
where in_force_from <= cast(on_date as date) and (in_force_to is null or in_force_to >= cast(on_date as date))
