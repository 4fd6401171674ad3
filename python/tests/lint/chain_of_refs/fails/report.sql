select b as c from {{ ref('second') }}
