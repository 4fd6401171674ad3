with p as (select id, secret as s, name from {{ source('raw', 'people') }}), q as (select * from p) select id, upper(name) as x from q
