{{ config(materialized='incremental') }}
select id, name from {{ source('raw', 'people') }} where id > 0
