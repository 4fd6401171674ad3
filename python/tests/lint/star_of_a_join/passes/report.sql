select o.* from {{ source('raw', 'orders') }} as o join (select id as person_id, secret from {{ source('raw', 'people') }}) as p using (person_id)
