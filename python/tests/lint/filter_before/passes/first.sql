select id from {{ source('raw', 'people') }} where name = 'x'
