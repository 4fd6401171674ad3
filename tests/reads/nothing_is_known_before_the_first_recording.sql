{#- As known just before the first record became known, there is nothing to read (T6). -#}
{%- set before = "(select min(known_at) - interval 1 microsecond from " ~ governed_memory.relation('records') ~ ")" -%}
select store_id, record_index, record_id
from {{ governed_memory.relation('record_intervals_at') }}(known_on := {{ before }})
where {{ before }} is not null
