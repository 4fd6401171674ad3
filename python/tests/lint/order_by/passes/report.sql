select id from {{ source('raw', 'people') }} order by name limit 1
