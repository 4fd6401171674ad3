select id from {{ source('raw', 'people') }} qualify row_number() over (partition by name order by secret) = 1
