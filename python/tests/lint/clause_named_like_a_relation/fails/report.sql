with people as (select id, secret as name from {{ source('raw', 'people') }}) select name from people
