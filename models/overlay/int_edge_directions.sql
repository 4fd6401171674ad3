{{ config(materialized='table') }}
{#- Only stores whose edges run both ways in the order of records can hold a cycle; `direction` makes the rarer kind the one that rises. -#}
with

edges as (
    select
        store_id,
        {{ governed_memory.arrival_position('successor') }} < {{ governed_memory.arrival_position('predecessor') }} as is_backward
    from {{ governed_memory.relation('int_supersession_edges') }}
    where predecessor_index is not null and successor_index <> predecessor_index
),

counts as (
    select
        store_id,
        count(*) as edge_count,
        count(*) filter (where is_backward) as backward_count
    from edges
    group by all
),

edge_directions as (
    select
        store_id,
        case when backward_count * 2 <= edge_count then 1 else -1 end as direction
    from counts
    where backward_count between 1 and edge_count - 1
)

select * from edge_directions
