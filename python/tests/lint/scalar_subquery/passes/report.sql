select o.order_id, (select max(p.name) from {{ source('raw', 'people') }} as p where p.id = o.person_id) as s from {{ source('raw', 'orders') }} as o
