select unnest(string_split(name, ' ')) as word from {{ source('raw', 'people') }}
