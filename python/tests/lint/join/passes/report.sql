select o.order_id, p.name from {{ source('raw', 'orders') }} as o left join {{ source('raw', 'people') }} as p on o.person_id = p.id
