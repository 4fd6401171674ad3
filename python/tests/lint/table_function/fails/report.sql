select f.secret from {{ ref('first') }}(1) as f
