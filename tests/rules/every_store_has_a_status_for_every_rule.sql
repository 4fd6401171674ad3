{#- A rule without a row would read as a rule that passed (L3). -#}
with

expected as (
    select stores.store_id, rules.rule_id
    from {{ governed_memory.relation('stores') }} as stores
    cross join {{ governed_memory.relation('rules') }} as rules
),

rule_statuses as (select * from {{ governed_memory.relation('rule_statuses') }})

select store_id, rule_id from expected
anti join rule_statuses using (store_id, rule_id)
union all
select store_id, rule_id from rule_statuses
anti join expected using (store_id, rule_id)
