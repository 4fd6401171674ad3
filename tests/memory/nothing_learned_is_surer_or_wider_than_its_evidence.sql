-- M14, told source by source, beside the macro that derives it
with

sources as (
    select
        cell_id,
        confidence,
        classification,
        release_to,
        is_restricted,
        unnest(source_ids) as source_id
    from {{ ref('cells') }}
    where transition = 'consolidate'
)

select distinct sources.cell_id
from sources
inner join {{ ref('cells') }} as evidence on sources.source_id = evidence.cell_id
left join {{ ref('classifications') }} as given on sources.classification = given.classification
left join {{ ref('classifications') }} as asked on evidence.classification = asked.classification
where
    sources.confidence is not null and coalesce(sources.confidence > evidence.confidence, true)
    or evidence.is_restricted and not sources.is_restricted
    or evidence.is_restricted and not list_has_all(evidence.release_to, sources.release_to)
    or coalesce(trim(evidence.classification), '') <> ''
    and (sources.classification is null or coalesce(given.strictness, 2147483647) < coalesce(asked.strictness, 2147483647))
