select count(*) as n from {{ source('raw', 'people') }} group by secret
