-- M14, told source by source, beside the macro that derives it
with

sources as (
    select
        cell_id,
        'cell' as what,
        unnest(source_ids) as source_id
    from {{ ref('cells') }}
    where transition = 'consolidate'
    union all
    select
        cell_id,
        'trace' as what,
        trace_id as source_id
    from {{ ref('skill_lineage') }}
),

evidence as (
    select
        'cell' as what,
        cell_id as source_id,
        confidence,
        classification,
        release_to,
        is_restricted
    from {{ ref('cells') }}
    union all
    select
        'trace' as what,
        trace_id as source_id,
        confidence,
        classification,
        release_to,
        is_restricted
    from {{ ref('traces') }}
)

select distinct cells.cell_id
from sources
inner join {{ ref('cells') }} as cells on sources.cell_id = cells.cell_id
inner join evidence on sources.what = evidence.what and sources.source_id = evidence.source_id
left join {{ ref('classifications') }} as given on cells.classification = given.classification
left join {{ ref('classifications') }} as asked on evidence.classification = asked.classification
where
    cells.confidence is not null and coalesce(cells.confidence > evidence.confidence, true)
    or evidence.is_restricted and not cells.is_restricted
    or evidence.is_restricted and not list_has_all(evidence.release_to, cells.release_to)
    or coalesce(trim(evidence.classification), '') <> ''
    and (cells.classification is null or coalesce(given.strictness, 2147483647) < coalesce(asked.strictness, 2147483647))
