select string_agg(secret, ',' order by id) as all_of_them from {{ source('raw', 'people') }}
