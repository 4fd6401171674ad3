select o.order_id from {{ source('raw', 'orders') }} as o semi join {{ source('raw', 'people') }} as p on o.person_id = p.id
