select
    target_id as cell_id,
    min(effective_at) as expired_at
from {{ governed_memory.relation('annotations') }}
where kind = 'expire'
group by target_id
