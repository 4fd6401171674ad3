select w.word from {{ source('raw', 'people') }} as p, unnest(string_split(p.secret, ' ')) as w(word)
