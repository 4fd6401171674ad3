{{ config(materialized='table') }}
{#- A table, written before any row of the log is read: all of a build sees the log as it was then, whoever writes meanwhile. -#}
{{ governed_memory.log_heads() }}
