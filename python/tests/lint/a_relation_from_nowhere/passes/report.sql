select id from {{ source('raw', 'people') }}
