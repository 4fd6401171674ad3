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
        store_id,
        concept_id,
        question_class_id,
        starts_on,
        ends_on,
        resolution,
        side.record_id as record_id,
        side.value as value,
        side.source_id as source_id,
        side.valid_from as valid_from,
        side.is_restricted as is_restricted,
        side.release_to as release_to,
        reasons,
        relevant_count,
        restricted_counts
    from segments
)

select * from concept_segments
