select name from {{ source('raw', 'people') }} except select name from {{ source('raw', 'people') }}
