{#- A waiver covers one record's finding of a rule, or with no record_id all of them, up to and including its last day. The baseline covers
    what it names, as often as it counts it; of several findings alike the later ones are then the new ones. -#}
with

offenders as (
    select * from {{ governed_memory.relation('int_presence_offenders') }}
    union all
    select * from {{ governed_memory.relation('int_value_offenders') }}
),

rules as (select * from {{ governed_memory.relation('rules') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

waivers as (
    select waivers.*
    from {{ governed_memory.relation('stg_waivers') }} as waivers
    cross join builds
    where coalesce(waivers.ends_on >= builds.on_date, false) and not coalesce({{ governed_memory.is_blank('waivers.reason') }}, true)
),

baseline as (
    select *
    from {{ governed_memory.relation('int_baseline') }}
    where problem is null
),

offenders_waived as (
    select
        offenders.*,
        {{ governed_memory.finding_fingerprint('offenders') }} as fingerprint,
        exists(
            select 1 from waivers
            where
                waivers.store_id = offenders.store_id and waivers.rule_id = offenders.rule_id
                and coalesce(waivers.record_id, offenders.record_id, '') = coalesce(offenders.record_id, '')
        ) as has_waiver
    from offenders
),

-- in two parts: without a baseline nothing is sorted and no fingerprint computed
offenders_compared as (
    select
        offenders_waived.*,
        false as is_in_baseline
    from offenders_waived
    anti join baseline on offenders_waived.fingerprint = baseline.fingerprint
    union all
    select
        offenders_waived.*,
        row_number() over (alike order by offenders_waived.record_index, offenders_waived.detail) <= baseline.finding_count as is_in_baseline
    from offenders_waived
    inner join baseline on offenders_waived.fingerprint = baseline.fingerprint
    window alike as (partition by offenders_waived.fingerprint)
),

offenders_judged as (
    select
        compared.* exclude (has_waiver, is_in_baseline),
        rules.kind,
        rules.level,
        rules.requirement,
        compared.has_waiver or compared.is_in_baseline as is_waived,
        compared.is_in_baseline and not compared.has_waiver as is_baselined,
        rules.requirement = 'MUST' and rules.level <= stores.target_level as is_required
    from offenders_compared as compared
    inner join rules on compared.rule_id = rules.rule_id
    inner join stores on compared.store_id = stores.store_id
)

select
    *,
    case when is_baselined then 'baselined' when is_waived then 'waived' when is_required then 'error' else 'warning' end as severity
from offenders_judged
