select
    null as store_id,
    concept as concept_id,
    team as party_id,
    null as valid_from,
    null as recorded_at
from {{ ref('owners') }}
