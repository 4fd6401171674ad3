{{ config(severity='warn') }}
{#- Without them a waiver has no effect, and whoever wrote it believes it has. A warning: an error here would keep the findings from being
    built, which then stand unwaived. `gmem status` names these rows too. -#}
select store_id, rule_id, record_id, ends_on, problem
from {{ governed_memory.relation('waivers') }}
where problem is not null
