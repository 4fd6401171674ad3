select list_transform([1, 2], lambda secret: secret + 1) as x from {{ source('raw', 'people') }}
