with

segments as (
    select
        store_id,
        concept_id,
        question_class_id,
        starts_on,
        ends_on,
        resolution,
        unnest(coalesce(sides, [null])) as side,
        reasons,
        relevant_count,
        restricted_counts
    from {{ governed_memory.relation('int_segments') }}
),

concept_segments as (
    select
        segments.store_id,
        segments.concept_id,
        segments.question_class_id,
        segments.starts_on,
        segments.ends_on,
        segments.resolution,
        segments.side.record_id,
        segments.side.value,
        segments.side.source_id,
        segments.side.valid_from,
        segments.side.is_restricted,
        segments.side.release_to,
        segments.reasons,
        segments.relevant_count,
        segments.restricted_counts
    from segments
)

select * from concept_segments
