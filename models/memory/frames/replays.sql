{{ config(materialized='table') }}
with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_replay_events'), 'replay_id') }}
)

select
    replay_id,
    frame_id,
    is_complete,
    verified_steps,
    failed_position,
    reason,
    follows,
    principal,
    session_id,
    recorded_at,
    transition,
    fingerprint,
    writer,
    seq
from first_told
