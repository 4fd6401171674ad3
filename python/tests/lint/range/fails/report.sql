select r.i from {{ source('raw', 'people') }} as p, range(length(p.secret)) as r(i)
