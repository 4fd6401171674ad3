select id, name from {{ source('raw', 'people') }} union all select order_id, amount::varchar from {{ source('raw', 'orders') }}
