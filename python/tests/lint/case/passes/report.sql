select case when name is null then 0 else 1 end as has from {{ source('raw', 'people') }}
