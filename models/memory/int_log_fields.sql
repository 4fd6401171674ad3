{{ config(materialized='table') }}
{#- A table: asked for each row that is written, and planned as many pieces otherwise. -#}
select
    stream,
    field,
    kind
from (values
{%- for stream in governed_memory.log_streams() %}
{%- set in_streams = loop %}
{%- for field, type in governed_memory.log_fields(stream).items() %}
    ('{{ stream }}', '{{ field }}', '{{ governed_memory.json_kind(type) }}'){{ ',' if not (in_streams.last and loop.last) }}
{%- endfor %}
{%- endfor %}
) as fields (stream, field, kind)
