select columns('s.*') from {{ source('raw', 'people') }}
