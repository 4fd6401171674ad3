select f.id from {{ ref('first') }}(1) as f
