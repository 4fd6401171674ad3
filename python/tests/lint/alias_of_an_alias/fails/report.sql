select secret as a, a || '!' as b from {{ source('raw', 'people') }}
