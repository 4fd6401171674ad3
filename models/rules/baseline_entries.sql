{#- A rule that cannot be asked because a register is not there, or the store does not attest its writers, tells nothing of its entries. -#}
with

baseline as (
    select *
    from {{ governed_memory.relation('int_baseline') }}
    where problem is null
),

offenders as (select * from {{ governed_memory.relation('int_offenders_judged') }}),

rules as (select * from {{ governed_memory.relation('rules') }}),

conditions as (select * from {{ governed_memory.relation('store_conditions') }}),

found as (
    select
        offenders.fingerprint,
        count(*) as found_count
    from offenders
    semi join baseline on offenders.fingerprint = baseline.fingerprint
    group by all
),

baseline_entries as (
    select
        baseline.store_id,
        baseline.rule_id,
        baseline.field,
        baseline.record_id,
        baseline.detail,
        baseline.fingerprint,
        baseline.created_on,
        rules.kind,
        baseline.finding_count,
        case
            when conditions.holds or conditions.is_of_records then least(coalesce(found.found_count, 0), baseline.finding_count)
            else baseline.finding_count
        end as remaining_count
    from baseline
    inner join rules on baseline.rule_id = rules.rule_id
    left join conditions
        on baseline.store_id = conditions.store_id and rules.applies_when = conditions.condition_id
    left join found on baseline.fingerprint = found.fingerprint
)

select * from baseline_entries
