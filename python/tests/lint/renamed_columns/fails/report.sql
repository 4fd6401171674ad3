select t.c from {{ source('raw', 'people') }} as t(a, b, c)
