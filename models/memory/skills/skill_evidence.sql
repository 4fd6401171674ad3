-- Each trace with its signature, and where it does not count as evidence, why (M8)
with

signatures as (
    select
        traces.trace_id,
        traces.fingerprint,
        traces.skill,
        {{ governed_memory.tools_of('traces') }} as tools,
        traces.conditions,
        traces.succeeded,
        traces.failure_reason,
        traces.source_ids,
        traces.executor,
        traces.ended_at,
        {{ governed_memory.tools_called('traces') }} as tools_called,
        {{ governed_memory.inputs_called('traces') }} as inputs_hashes,
        traces.principal,
        traces.session_id,
        traces.recorded_at,
        {{ governed_memory.trace_signature('traces') }} as signature_fingerprint,
        case
            -- what a model says that it did is not what was done
            when len(traces.steps) = 0 then 'model_output_only'
            when traces.succeeded and not struct_extract(traces.steps[-1], 'succeeded') then 'success_unsupported'
        end as problem
    from {{ governed_memory.relation('traces') }} as traces
),

reasoned as (
    select
        *,
        coalesce(
            problem,
            -- one run, told twice, is one; not by a hash of these, which takes three times as long for a million traces
            case
                when row_number() over (
                    partition by skill, tools, executor, ended_at, tools_called, inputs_hashes, succeeded, problem
                    order by trace_id
                ) > 1 then 'repeats_evidence'
            end
        ) as reason
    from signatures
)

select
    trace_id,
    signature_fingerprint,
    skill,
    tools,
    conditions,
    succeeded,
    failure_reason,
    fingerprint,
    source_ids,
    principal,
    session_id,
    recorded_at,
    reason is null as is_counted,
    reason
from reasoned
