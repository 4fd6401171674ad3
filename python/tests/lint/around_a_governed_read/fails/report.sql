select r.secret, p.secret as s from {{ ref('released') }} as r join {{ source('raw', 'people') }} as p using (id)
