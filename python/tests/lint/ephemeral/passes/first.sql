{{ config(materialized='ephemeral') }}
select id, secret as a from {{ source('raw', 'people') }}
