{#- What the published checker would list of a store: findings of a level only where every lower level is complete, then the rule fields, then
    what should be there. Waivers are unknown to it, so offenders count whether waived or not. -#}
with

rules as (
    select
        *,
        requirement = 'MUST' and applies_when <> 'states_rule' as is_level_field
    from {{ governed_memory.relation('rules') }}
    where kind = 'presence'
),

counts as (select * from {{ governed_memory.relation('finding_counts') }}),

failing as (
    select
        counts.store_id,
        rules.rule_id,
        rules.position,
        rules.field,
        rules.level,
        rules.is_level_field,
        rules.published_requirement,
        counts.finding_count + counts.waived_count as finding_count
    from counts
    inner join rules on counts.rule_id = rules.rule_id
),

first_failures as (
    select store_id, min(level) as level
    from failing
    where is_level_field
    group by all
),

published_findings as (
    select failing.*
    from failing
    left join first_failures on failing.store_id = first_failures.store_id
    where not failing.is_level_field or failing.level = first_failures.level
)

select * from published_findings
