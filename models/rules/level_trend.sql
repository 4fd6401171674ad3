{{ config(materialized='table') }}
{#- A table: the history may be in a file of its own that is not attached when this is read. -#}
with

level_history as (select * from {{ governed_memory.relation('level_history') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

level_trend as (
    select level_history.*
    from level_history
    semi join stores on level_history.store_id = stores.store_id
)

select * from level_trend
