select * from (select id, name, secret from {{ source('raw', 'people') }}) pivot (max(secret) for name in ('a', 'b'))
