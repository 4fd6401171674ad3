select v.x from {{ source('raw', 'people') }} as p, (values (p.secret), ('a')) as v(x)
