select o.order_id, w.s from {{ source('raw', 'orders') }} as o left join lateral (select p.name as s from {{ source('raw', 'people') }} as p where p.id = o.person_id) as w on true
