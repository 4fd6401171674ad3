select id from {{ ref('first') }}
