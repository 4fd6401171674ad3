{#- A blank reason is none: not_null does not see it. -#}
select store_id, rule_id, record_id, ends_on
from {{ governed_memory.relation('stg_waivers') }}
where reason is null or {{ governed_memory.is_blank('reason') }} or ends_on is null
