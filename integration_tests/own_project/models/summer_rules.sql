select
    store_id,
    record_id,
    value
from {{ ref('governed_memory', 'records_as_of') }}(date '2026-07-15')
