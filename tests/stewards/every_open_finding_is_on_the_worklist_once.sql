{#- Nothing that is open gets lost on the way to whoever must act (L6). -#}
with

findings as (
    select store_id, rule_id, count(*) as findings
    from {{ governed_memory.relation('findings') }}
    where not is_waived
    group by all
),

items as (
    select store_id, rule_id, count(*) as items
    from {{ governed_memory.relation('steward_items') }}
    where rule_id is not null
    group by all
)

select
    findings.*,
    items.items
from findings
full outer join items on findings.store_id = items.store_id and findings.rule_id = items.rule_id
where findings.findings is distinct from items.items
