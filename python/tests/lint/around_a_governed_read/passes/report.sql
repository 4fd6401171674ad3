select r.secret, p.name from {{ ref('released') }} as r join {{ source('raw', 'people') }} as p using (id)
