{{ config(materialized='table') }}
select
    'L-' || row_number() over (order by term) as record_id,
    term as concept,
    meaning as value,
    since as valid_from,
    null::date as valid_to,
    approved_by as source
from {{ ref('label_terms') }}
