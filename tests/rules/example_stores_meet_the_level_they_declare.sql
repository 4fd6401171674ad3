{{ config(enabled=(project_name == 'governed_memory')) }}
{#- The two example stores only: of any other store its findings decide, rule by rule. -#}
select store_id, target_level, level
from {{ governed_memory.relation('store_levels') }}
where store_id in ('reference', 'reference_edges') and not is_met
