select id, lag(secret) over (order by id) as before from {{ source('raw', 'people') }}
