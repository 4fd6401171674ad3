select id, name from {{ source('raw', 'people') }} union all by name select name, id from {{ source('raw', 'people') }}
