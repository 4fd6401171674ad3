{{ config(enabled=(project_name == 'governed_memory')) }}
{#- The two example stores only: of any other store its findings decide, rule by rule. Asked of what the build remembers, so that a build
    that fails here has been remembered. -#}
select
    trend.store_id,
    trend.target_level,
    trend.level
from {{ governed_memory.relation('level_trend') }} as trend
inner join {{ governed_memory.relation('stg_build') }} as builds on trend.built_at = builds.built_at
where trend.store_id in ('reference', 'reference_edges') and not trend.is_met
