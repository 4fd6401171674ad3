{{ config(materialized='table_function', parameters=['wanted']) }}
select id, secret from {{ source('raw', 'people') }} where id = wanted
