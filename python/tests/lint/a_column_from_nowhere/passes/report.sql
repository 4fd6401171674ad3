select p.id from {{ source('raw', 'people') }} as p
