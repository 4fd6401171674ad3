{#- Offenders that a rule model reports under another rule's name, or without the store or field they are about. -#}
with

offenders as (
    {% for rule_id in governed_memory.rule_models() %}
    select '{{ rule_id }}' as model_name, rule_id, store_id, field from {{ governed_memory.relation(rule_id) }}
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select * from offenders
where rule_id is distinct from model_name or store_id is null or field is null
