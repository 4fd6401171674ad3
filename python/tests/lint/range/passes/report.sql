select r.i from {{ source('raw', 'people') }} as p, range(3) as r(i)
