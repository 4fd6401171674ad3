{#- A waiver covers one record's finding of a rule, or with no record_id all of them. -#}
with

offenders as (
    select * from {{ governed_memory.relation('int_presence_offenders') }}
    union all
    select * from {{ governed_memory.relation('int_value_offenders') }}
),

rules as (select * from {{ governed_memory.relation('rules') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

waivers as (
    select * from {{ governed_memory.relation('waivers') }}
    where is_in_effect
),

offenders_judged as (
    select
        offenders.*,
        rules.kind,
        rules.level,
        rules.requirement,
        exists(
            select 1 from waivers
            where
                waivers.store_id = offenders.store_id and waivers.rule_id = offenders.rule_id
                and coalesce(waivers.record_id, offenders.record_id, '') = coalesce(offenders.record_id, '')
        ) as is_waived,
        rules.requirement = 'MUST' and rules.level <= stores.target_level as is_required
    from offenders
    inner join rules on offenders.rule_id = rules.rule_id
    inner join stores on offenders.store_id = stores.store_id
)

select
    *,
    case when is_waived then 'waived' when is_required then 'error' else 'warning' end as severity
from offenders_judged
