select id from (select id, name from {{ source('raw', 'people') }}) as p join (select id, name from {{ source('raw', 'people') }}) as q using (id, name)
