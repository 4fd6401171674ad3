select * exclude (secret) from {{ source('raw', 'people') }}
