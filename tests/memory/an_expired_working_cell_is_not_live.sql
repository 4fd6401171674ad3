-- M2: told from the cell alone, beside the states that the view derives
select live_cells.cell_id
from {{ ref('live_cells') }} as live_cells
cross join {{ ref('stg_build') }} as builds
where live_cells.system = 'working' and live_cells.created_at + to_microseconds((live_cells.ttl_seconds * 1e6)::bigint) <= builds.built_at
