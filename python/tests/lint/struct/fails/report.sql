select f.both.s as x from {{ ref('first') }} as f
