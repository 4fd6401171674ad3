select list_transform([1, 2], lambda secret_length: secret_length + length(secret)) as x from {{ source('raw', 'people') }}
