select unnest(string_split(secret, ' ')) as word from {{ source('raw', 'people') }}
