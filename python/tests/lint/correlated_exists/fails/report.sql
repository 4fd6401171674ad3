select p.id from {{ source('raw', 'people') }} as p where exists (select 1 from {{ source('raw', 'orders') }} as o where o.person_id = p.id and p.secret = 'x')
