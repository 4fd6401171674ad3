{{ config(materialized='table') }}
select
    store_id,
    rule_id,
    count(*) filter (where not is_waived) as finding_count,
    count(*) filter (where severity = 'error') as error_count,
    count(*) filter (where is_waived) as waived_count,
    count(*) filter (where is_baselined) as baselined_count
from {{ governed_memory.relation('int_offenders_judged') }}
group by all
