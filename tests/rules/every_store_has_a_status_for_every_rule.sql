{#- A rule without a row would read as a rule that passed (L3). -#}
with

expected as (
    select
        stores.store_id,
        rules.rule_id
    from {{ governed_memory.relation('stores') }} as stores
    cross join {{ governed_memory.relation('rules') }} as rules
),

rule_statuses as (select * from {{ governed_memory.relation('rule_statuses') }}),

differences as (
    select
        coalesce(expected.store_id, rule_statuses.store_id) as store_id,
        coalesce(expected.rule_id, rule_statuses.rule_id) as rule_id,
        expected.rule_id is not null as is_expected
    from expected
    full outer join rule_statuses
        on expected.store_id = rule_statuses.store_id and expected.rule_id = rule_statuses.rule_id
    where expected.rule_id is null or rule_statuses.rule_id is null
)

select * from differences
