select id, lag(name) over (order by id) as before from {{ source('raw', 'people') }}
