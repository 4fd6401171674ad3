{#- From the rule models to the statuses no offender is lost or doubled: a rule that the seed does not hold would drop out silently. -#}
with

offenders as (
    select store_id, rule_id from {{ governed_memory.relation('int_presence_offenders') }}
    union all
    select store_id, rule_id from {{ governed_memory.relation('int_value_offenders') }}
),

counted as (
    select store_id, rule_id, count(*) as offender_count from offenders
    group by all
),

found as (
    select store_id, rule_id, count(*) as row_count from {{ governed_memory.relation('findings') }}
    group by all
),

statuses as (select * from {{ governed_memory.relation('rule_statuses') }})

select
    coalesce(counted.store_id, statuses.store_id) as store_id,
    coalesce(counted.rule_id, statuses.rule_id) as rule_id,
    coalesce(counted.offender_count, 0) as offender_count,
    coalesce(found.row_count, 0) as findings_count,
    coalesce(statuses.finding_count + statuses.waived_count, 0) as status_count
from counted
full outer join statuses on counted.store_id = statuses.store_id and counted.rule_id = statuses.rule_id
left join found
    on coalesce(counted.store_id, statuses.store_id) = found.store_id and coalesce(counted.rule_id, statuses.rule_id) = found.rule_id
where
    coalesce(counted.offender_count, 0) <> coalesce(found.row_count, 0)
    or coalesce(counted.offender_count, 0) <> coalesce(statuses.finding_count + statuses.waived_count, 0)
