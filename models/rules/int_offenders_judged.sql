{#- A waiver covers one record's finding of a rule, or with no record_id all of them. The baseline covers
    what it names, as often as it counts it; of several findings alike the later ones are then the new ones. -#}
with

offenders as not materialized (
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

-- read twice below: set aside, an empty one would no longer spare its join
baseline as not materialized (
    select *
    from {{ governed_memory.relation('int_baseline') }}
    where problem is null
),

fingerprinted as not materialized (
    select
        offenders.*,
        {{ governed_memory.finding_fingerprint('offenders') }} as fingerprint
    from offenders
),

compared as (
    select
        fingerprinted.*,
        false as is_in_baseline
    from fingerprinted
    anti join baseline on fingerprinted.fingerprint = baseline.fingerprint
    union all
    select
        fingerprinted.*,
        row_number() over (alike order by fingerprinted.record_index, fingerprinted.detail) <= baseline.finding_count as is_in_baseline
    from fingerprinted
    inner join baseline on fingerprinted.fingerprint = baseline.fingerprint
    window alike as (partition by fingerprinted.fingerprint)
),

waived as (
    select
        *,
        exists(
            select 1 from waivers
            where
                waivers.store_id = compared.store_id and waivers.rule_id = compared.rule_id
                and coalesce(waivers.record_id, compared.record_id, '') = coalesce(compared.record_id, '')
        ) as has_waiver
    from compared
),

offenders_judged as (
    select
        waived.* exclude (waived.has_waiver, waived.is_in_baseline),
        rules.kind,
        rules.level,
        rules.requirement,
        waived.has_waiver or waived.is_in_baseline as is_waived,
        waived.is_in_baseline and not waived.has_waiver as is_baselined,
        rules.requirement = 'MUST' and rules.level <= stores.target_level as is_required
    from waived
    inner join rules on waived.rule_id = rules.rule_id
    inner join stores on waived.store_id = stores.store_id
)

select
    *,
    case when is_baselined then 'baselined' when is_waived then 'waived' when is_required then 'error' else 'warning' end as severity
from offenders_judged
