select * from {{ source('raw', 'people') }}
