with u as (select id from {{ source('raw', 'people') }} union all by name select id, name from {{ source('raw', 'people') }}) select * from u
