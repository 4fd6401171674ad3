select id, a as b from {{ ref('first') }}
