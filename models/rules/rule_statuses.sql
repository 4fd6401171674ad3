with

rules as (select * from {{ governed_memory.relation('rules') }}),

conditions as (select * from {{ governed_memory.relation('store_conditions') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

counts as (select * from {{ governed_memory.relation('finding_counts') }}),

rule_statuses as (
    select
        stores.store_id,
        rules.rule_id,
        rules.position,
        rules.kind,
        rules.field,
        rules.level,
        rules.requirement,
        case
            when coalesce(counts.finding_count, 0) > 0 then 'fail'
            when not (held.holds and nonempty.holds) then 'n/a'
            else 'pass'
        end as status,
        case when coalesce(counts.finding_count, 0) = 0 then coalesce(nonempty.reason, held.reason) end as reason,
        coalesce(counts.finding_count, 0) as finding_count,
        coalesce(counts.waived_count, 0) as waived_count,
        coalesce(counts.baselined_count, 0) as baselined_count
    from stores
    cross join rules
    left join conditions as held
        on stores.store_id = held.store_id and rules.applies_when = held.condition_id
    left join conditions as nonempty
        on stores.store_id = nonempty.store_id and nonempty.condition_id = 'always'
    left join counts
        on stores.store_id = counts.store_id and rules.rule_id = counts.rule_id
)

select * from rule_statuses
