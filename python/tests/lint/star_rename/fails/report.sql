select * rename (secret as remark) from {{ source('raw', 'people') }}
