select {'n': name} as both from {{ source('raw', 'people') }}
