select o.order_id, p.secret from {{ source('raw', 'orders') }} as o left join {{ source('raw', 'people') }} as p on o.person_id = p.id
