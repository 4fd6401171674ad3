{#- Where each register is, for the commands that append to it. -#}
{%- set registers = governed_memory.attached_registers() -%}
{{ config(meta={'registers': registers}) }}
{% for name, place in registers.items() %}
select
    {{ governed_memory.text_literal(name) }} as register_id,
    {{ governed_memory.text_literal(governed_memory.attached_relation(place.appended if place is mapping else place) | string) }} as location,
    {{ place is mapping }} as is_appended
{% if not loop.last %}union all{% endif %}
{% else %}
select
    null::varchar as register_id,
    null::varchar as location,
    null::boolean as is_appended
where false
{% endfor %}
