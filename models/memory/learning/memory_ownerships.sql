-- Whoever approves a concept first owns it from then on (M7)
select
    null::varchar as store_id,
    concept as concept_id,
    party as party_id,
    valid_from,
    approved_at as recorded_at
from {{ governed_memory.relation('learned_schemas') }}
qualify row_number() over (partition by concept order by approved_at, approval_id) = 1
