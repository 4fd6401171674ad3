select * replace ('x' as secret) from {{ source('raw', 'people') }}
