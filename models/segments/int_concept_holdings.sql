{{ config(materialized='table') }}
with

candidates as (select * from {{ governed_memory.relation('records') }}),

edges as (select * from {{ governed_memory.relation('int_supersession_edges') }}),

{{ governed_memory.holdings('candidates', 'edges') }}

select * from holdings
