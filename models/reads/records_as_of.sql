{{ config(materialized='table_function', parameters=['on_date', 'known_on := null', 'scope := null']) }}
{#- With on_date alone only the first half runs: the planner drops the other one. -#}
select *
from {{ governed_memory.relation('record_intervals_built') }}
where
    known_on is null and scope is null
    and in_force_from <= cast(on_date as date) and coalesce(in_force_to >= cast(on_date as date), true)
union all
select *
from ({{ governed_memory.intervals('known_on', 'scope') }})
where
    (known_on is not null or scope is not null)
    and in_force_from <= cast(on_date as date) and coalesce(in_force_to >= cast(on_date as date), true)
