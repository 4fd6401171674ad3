select secret from (select id, secret from {{ source('raw', 'people') }}) as p join (select id, name as secret from {{ source('raw', 'people') }}) as q using (id, secret)
