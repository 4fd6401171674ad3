with

first_told as (
    {{ governed_memory.first_told(governed_memory.relation('int_decision_events'), 'decision_id') }}
)

select
    decision_id,
    kind,
    policy_version,
    outcome,
    coalesce(subject_ids, []) as subject_ids,
    link_id,
    principal,
    recorded_at
from first_told
