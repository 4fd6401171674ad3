with recursive r as (select 1 as step, 'a' as x union all select r.step + 1, p.name from r join {{ source('raw', 'people') }} as p on r.step < 3) select x from r
