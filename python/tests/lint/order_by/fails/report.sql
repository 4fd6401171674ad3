select id from {{ source('raw', 'people') }} order by secret limit 1
