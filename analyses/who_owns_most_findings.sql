-- Who has most to mend, and which rules they fail.
-- How to read it: errors fail the build, warnings do not; what is waived or in the baseline is left out.
select
    party_id,
    party_role,
    count(*) filter (where severity = 'error') as errors,
    count(*) filter (where severity = 'warning') as warnings,
    list(distinct rule_id order by rule_id) as rules
from {{ governed_memory.relation('findings') }}
where not is_waived
group by party_id, party_role
order by errors desc, warnings desc, party_id asc
