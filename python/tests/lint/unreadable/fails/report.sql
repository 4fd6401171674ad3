select from where {{ source('raw', 'people') }}
