with recursive r as (select 1 as step, 'a' as x, 'b' as y union all select r.step + 1, r.y, p.secret from r join {{ source('raw', 'people') }} as p on r.step < 3) select x from r
