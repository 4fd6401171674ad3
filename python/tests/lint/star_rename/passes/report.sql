select * exclude (secret) rename (name as remark) from {{ source('raw', 'people') }}
