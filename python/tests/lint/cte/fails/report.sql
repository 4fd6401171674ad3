with p as (select id, secret as s from {{ source('raw', 'people') }}), q as (select * from p) select id, upper(s) as x from q
