select secret from {{ ref('released') }}
