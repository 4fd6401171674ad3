select name from {{ source('raw', 'people') }} except select secret from {{ source('raw', 'people') }}
