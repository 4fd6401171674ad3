select id from {{ ref('second') }}
