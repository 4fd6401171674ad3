select id from {{ source('raw', 'people') }} where secret = 'x'
