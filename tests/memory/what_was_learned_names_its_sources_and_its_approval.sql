-- M2, M8: semantic and procedural cells lead back to what they come from, a skill to traces that are held, and to who approved them
with

traced as (
    select
        cell_id,
        count(*) as traces
    from {{ ref('skill_lineage') }}
    where is_held
    group by cell_id
)

select cells.cell_id
from {{ ref('cells') }} as cells
inner join {{ ref('memory_systems') }} as systems on cells.system = systems.system
left join traced on cells.cell_id = traced.cell_id
where systems.needs_approval and (len(cells.source_ids) + coalesce(traced.traces, 0) = 0 or coalesce(cells.approval_id, '') = '')
