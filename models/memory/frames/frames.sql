{{ config(materialized='table') }}
with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_frame_events'), 'frame_id') }}
)

select
    frame_id,
    scene,
    coalesce(entities, []) as entities,
    goal,
    action,
    outcome,
    coalesce(cues, []) as cues,
    starts_at,
    ends_at,
    order_from,
    steps,
    principal,
    session_id,
    recorded_at,
    transition,
    fingerprint,
    writer,
    seq
from first_told
