select
    concept_id as work,
    value as attribution
from {{ ref('records_in_force') }}
