{{ config(materialized='table') }}
with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_link_events'), 'link_id') }}
)

select
    link_id,
    from_cell_id,
    to_cell_id,
    link_type,
    weight,
    reason,
    coalesce(source_ids, []) as source_ids,
    principal,
    session_id,
    recorded_at,
    transition,
    fingerprint,
    writer,
    seq
from first_told
