{{ config(materialized='table') }}
{#- A table: asked for each row that is written, and planned as many pieces otherwise. -#}
{{ governed_memory.log_field_rows() }}
