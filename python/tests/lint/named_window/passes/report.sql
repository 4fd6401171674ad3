select id, row_number() over w as place from {{ source('raw', 'people') }} window w as (order by name)
