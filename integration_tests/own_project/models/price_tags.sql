select
    concept_id,
    value as price
from {{ ref('governed_memory', 'records_in_force') }}
where store_id = 'prices'
