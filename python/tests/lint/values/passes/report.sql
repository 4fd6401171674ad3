select v.x from {{ source('raw', 'people') }} as p, (values (p.name), ('a')) as v(x)
