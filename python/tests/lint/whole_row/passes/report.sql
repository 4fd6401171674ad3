select to_json(p) as x from (select id, name from {{ source('raw', 'people') }}) as p
