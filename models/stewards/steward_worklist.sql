select * exclude (is_snoozed)
from {{ governed_memory.relation('steward_items') }}
where not is_snoozed
