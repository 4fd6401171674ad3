{#- What is gone may not come back unseen: `gmem baseline STORE -o FILE --prune` takes it out (L3). A warning, since repairing a record is no fault. -#}
{{ config(severity='warn') }}
select store_id, rule_id, record_id, finding_count, remaining_count
from {{ governed_memory.relation('baseline_entries') }}
where remaining_count < finding_count
