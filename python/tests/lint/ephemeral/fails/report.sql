select a from {{ ref('first') }}
