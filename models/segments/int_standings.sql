{{ config(materialized='table') }}
with

candidates as (
    select * from {{ governed_memory.relation('records') }}
    where concept_id is not null and not is_withdrawal
),

{{ governed_memory.standings() }}

select * from standings
