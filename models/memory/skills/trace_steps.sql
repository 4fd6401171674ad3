select
    trace_id,
    position,
    struct_extract(steps[position], 'tool') as tool,
    struct_extract(steps[position], 'inputs_hash') as inputs_hash,
    struct_extract(steps[position], 'result_hash') as result_hash,
    struct_extract(steps[position], 'succeeded') as succeeded
from (
    select
        trace_id,
        steps,
        unnest(range(1, len(steps) + 1)) as position
    from {{ governed_memory.relation('traces') }}
)
