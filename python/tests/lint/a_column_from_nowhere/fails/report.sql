select p.secert from {{ source('raw', 'people') }} as p
