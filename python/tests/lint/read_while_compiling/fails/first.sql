select id, secret from {{ source('raw', 'people') }}
