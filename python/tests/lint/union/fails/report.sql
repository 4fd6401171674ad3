select id, name from {{ source('raw', 'people') }} union all select id, secret from {{ source('raw', 'people') }}
