select {'s': secret, 'n': name} as both from {{ source('raw', 'people') }}
