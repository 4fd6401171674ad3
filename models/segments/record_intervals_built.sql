{{ config(materialized='table') }}
{#- The view's rows as of this build, in a table: what as-of reads scan. Every build replaces it (T4). -#}
select * from {{ governed_memory.relation('record_intervals') }}
