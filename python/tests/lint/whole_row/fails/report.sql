select to_json(p) as x from {{ source('raw', 'people') }} as p
