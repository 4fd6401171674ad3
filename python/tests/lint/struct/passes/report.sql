select f.both.n as x from {{ ref('first') }} as f
