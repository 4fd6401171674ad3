{{ config(meta={'governed_read': true}) }}
select id, secret from {{ source('raw', 'people') }}
