{#- `gmem baseline` writes the baseline; a hand that changed an entry made it accept nothing, or something else than it says (L3). -#}
select store_id, rule_id, record_id, problem
from {{ governed_memory.relation('int_baseline') }}
where problem is not null
