{#- An entry that somebody changed by hand accepts nothing: neither a fingerprint that is not that of what stands beside it, nor a second count. -#}
with

baseline as (select * from {{ governed_memory.relation('stg_baseline') }}),

rules as (select * from {{ governed_memory.relation('rules') }}),

entries as (
    select
        baseline.*,
        rules.rule_id is not null as is_rule_known,
        baseline.fingerprint = {{ governed_memory.finding_fingerprint('baseline') }} as is_fingerprint_its_own,
        row_number() over (partition by baseline.fingerprint order by baseline.finding_count) as place
    from baseline
    left join rules on baseline.rule_id = rules.rule_id
)

select
    * exclude (is_rule_known, is_fingerprint_its_own, place),
    case
        when not is_rule_known then 'rule_unknown'
        when not coalesce(is_fingerprint_its_own, false) then 'fingerprint_differs'
        when not coalesce(finding_count > 0, false) then 'count_invalid'
        when place > 1 then 'listed_twice'
    end as problem
from entries
