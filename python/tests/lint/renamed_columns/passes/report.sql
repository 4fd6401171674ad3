select t.b from {{ source('raw', 'people') }} as t(a, b, c)
