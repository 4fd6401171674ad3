{{ config(materialized='table') }}
{#- Ids are compared in Unicode form NFC. Narrow, and a table: nearly every store has none, and what follows then costs nothing. -#}
with

named_rows as (
    select
        store_id,
        record_index,
        nfc_normalize(record_id) as normal_id
    from {{ governed_memory.relation('record_rows') }}
    where record_id is not null
)

select *
from named_rows
qualify count(*) over (partition by store_id, normal_id) > 1
