-- M8: the successes and failures that a skill counts are held in its lineage, and what a model said that it did is none of them
with

traced as (
    select
        lineage.cell_id,
        count(*) filter (where lineage.succeeded) as successes,
        count(*) filter (where not lineage.succeeded) as failures,
        count(*) filter (where evidence.reason = 'model_output_only') as claims
    from {{ ref('skill_lineage') }} as lineage
    left join {{ ref('skill_evidence') }} as evidence on lineage.trace_id = evidence.trace_id
    group by lineage.cell_id
)

select cells.cell_id
from {{ ref('cells') }} as cells
left join traced on cells.cell_id = traced.cell_id
where
    cells.system = 'procedural'
    and (
        cast(cells.metadata ->> '$.success_count' as bigint) is distinct from traced.successes
        or cast(cells.metadata ->> '$.failure_count' as bigint) is distinct from traced.failures
        or coalesce(traced.successes, 0) = 0
        or traced.claims > 0
    )
