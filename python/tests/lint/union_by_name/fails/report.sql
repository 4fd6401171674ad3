select name, id from {{ source('raw', 'people') }} union all by name select id, secret as name from {{ source('raw', 'people') }}
