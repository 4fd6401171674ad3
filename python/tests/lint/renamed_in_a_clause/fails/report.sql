with c(a, b) as (select id, secret from {{ source('raw', 'people') }}) select b from c
