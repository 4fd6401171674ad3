{{ config(materialized='table') }}
with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_trace_events'), 'trace_id') }}
)

select
    trace_id,
    skill,
    coalesce(conditions, []) as conditions,
    coalesce(planned_tools, []) as planned_tools,
    coalesce(steps, []) as steps,
    succeeded,
    failure_reason,
    model_output,
    executor,
    ended_at,
    coalesce(source_ids, []) as source_ids,
    confidence,
    classification,
    coalesce(release_to, []) as release_to,
    coalesce(trim(classification), '') <> '' or len(coalesce(release_to, [])) > 0 as is_restricted,
    principal,
    session_id,
    recorded_at,
    transition,
    fingerprint,
    writer,
    seq
from first_told
