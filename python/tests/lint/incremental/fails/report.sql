{{ config(materialized='incremental') }}
select id, secret from {{ source('raw', 'people') }} where id > 0{% if is_incremental() %} and id > (select max(id) from {{ this }}) {% endif %}
