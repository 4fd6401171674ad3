select string_agg(name, ',' order by id) as all_of_them from {{ source('raw', 'people') }}
