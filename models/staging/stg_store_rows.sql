{#- Every attached store, its rows as they are: the only model that reads a store. The order of `stores` is the order of rows. -#}
{% for store_id, store in var('stores').items() %}
({{ governed_memory.store_rows(store_id, store) }})
{% if not loop.last %}union all{% endif %}
{% endfor %}
