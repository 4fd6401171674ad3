select
    cells.*,
    states.state,
    states.strength
from {{ governed_memory.relation('cells') }} as cells
inner join {{ governed_memory.relation('cell_states') }} as states using (cell_id)
where not states.is_expired
