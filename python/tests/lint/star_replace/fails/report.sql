select * exclude (secret) replace (secret as name) from {{ source('raw', 'people') }}
