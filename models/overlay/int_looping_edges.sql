{{ config(materialized='table') }}
{#- Loops of the edges as written, before any is found ineffective: built once, so that a read as known on a date walks only these. -#}
with recursive

edges as (
    select *
    from {{ governed_memory.relation('int_supersession_edges') }}
    where predecessor_index is not null and successor_id <> predecessor_id
),

{{ governed_memory.cycle_edges('edges') }}

select * from cycle_edges
