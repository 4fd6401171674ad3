with people as (select id, name as secret from {{ source('raw', 'people') }}) select secret from people
