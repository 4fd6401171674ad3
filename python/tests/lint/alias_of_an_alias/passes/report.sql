select name as a, a || '!' as b from {{ source('raw', 'people') }}
