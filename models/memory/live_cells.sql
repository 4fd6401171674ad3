select
    cells.*,
    states.state,
    states.strength
from {{ governed_memory.relation('cells') }} as cells
inner join {{ governed_memory.relation('cell_states') }} as states on cells.cell_id = states.cell_id
where not states.is_expired
