{{ config(materialized='table') }}
with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_cell_events'), 'cell_id') }}
)

select
    row_number() over (order by recorded_at, writer, seq) as cell_number,
    cell_id,
    system,
    content,
    summary,
    source,
    coalesce(source_ids, []) as source_ids,
    confidence,
    importance,
    event_index,
    created_at,
    ttl_seconds,
    expires_at,
    metadata,
    classification,
    coalesce(release_to, []) as release_to,
    coalesce(trim(classification), '') <> '' or len(coalesce(release_to, [])) > 0 as is_restricted,
    approval_id,
    principal,
    session_id,
    recorded_at,
    transition,
    coalesce(string_split(nullif(terms, ''), ' '), []) as terms,
    fingerprint,
    writer,
    seq
from first_told
