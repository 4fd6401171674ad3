{{ config(materialized='table') }}
with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_annotation_events'), 'annotation_id') }}
)

select
    annotation_id,
    target_id,
    kind,
    reason,
    half_life_seconds,
    coalesce(effective_at, recorded_at) as effective_at,
    principal,
    session_id,
    recorded_at,
    transition,
    fingerprint,
    writer,
    seq
from first_told
