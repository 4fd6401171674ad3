{#- Every attached store, its rows as they are: the only model that reads a store. The order of `stores` is the order of rows. -#}
{{ config(meta={'stores': governed_memory.attached_stores()}) }}
{%- if execute and not governed_memory.attached_stores() -%}
    {{ exceptions.raise_compiler_error("no store is attached: name at least one in `vars: stores:` of your dbt_project.yml") }}
{%- endif %}
{% for store_id, store in governed_memory.attached_stores().items() %}
({{ governed_memory.store_rows(store_id, store) }})
{% if not loop.last %}union all{% endif %}
{% endfor %}
