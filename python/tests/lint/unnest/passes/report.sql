select w.word from {{ source('raw', 'people') }} as p, unnest(string_split(p.name, ' ')) as w(word)
