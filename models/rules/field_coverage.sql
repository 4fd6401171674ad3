{#- What a presence rule asks of a record is asked of every one, of rules or of restricted records only; the conflict policy is asked once of
    the store. Waived or not, what is missing is missing. -#}
with

rules as (
    select * from {{ governed_memory.relation('rules') }}
    where kind = 'presence'
),

asked as (
    select
        store_id,
        count(*) as always,
        count(*) filter (where states_rule) as states_rule,
        count(*) filter (where carries_restriction) as is_restricted
    from {{ governed_memory.relation('record_rows') }}
    group by all
),

counts as (select * from {{ governed_memory.relation('finding_counts') }}),

asked_counts as (
    select
        asked.store_id,
        rules.*,
        case
            when rules.field = 'conflict_policy' then 1
            when rules.applies_when = 'states_rule' then asked.states_rule
            when rules.applies_when = 'is_restricted' then asked.is_restricted
            else asked.always
        end as asked_count
    from asked
    cross join rules
),

field_coverage as (
    select
        asked_counts.store_id,
        asked_counts.field,
        asked_counts.position,
        asked_counts.level,
        asked_counts.requirement,
        asked_counts.asked_count,
        asked_counts.asked_count - coalesce(counts.finding_count + counts.waived_count, 0) as stated_count
    from asked_counts
    left join counts
        on asked_counts.store_id = counts.store_id and asked_counts.rule_id = counts.rule_id
)

select * from field_coverage
