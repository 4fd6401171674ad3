-- What each skill leads back to, as its approval names it: what failed stays beside what succeeded (M8)
select
    named.cell_id,
    named.trace_id,
    traces.trace_id is not null as is_held,
    traces.succeeded,
    traces.source_ids
from (
    select
        cell_id,
        unnest(trace_ids) as trace_id
    from {{ governed_memory.relation('approvals') }}
    where verdict = 'approve' and kind = 'skill'
) as named
left join {{ governed_memory.relation('traces') }} as traces on named.trace_id = traces.trace_id
