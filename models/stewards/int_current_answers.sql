with

builds as (select * from {{ governed_memory.relation('stg_build') }}),

segments as (
    select segments.*
    from {{ governed_memory.relation('int_segments') }} as segments
    cross join builds
    where coalesce(segments.starts_on <= builds.on_date, true) and coalesce(segments.ends_on >= builds.on_date, true)
),

current_answers as (
    select
        store_id,
        concept_id,
        question_class_id,
        resolution,
        list_sort(list_distinct(list_transform(sides, lambda side: struct_extract(side, 'record_id')))) as record_ids,
        starts_on,
        coalesce(list_bool_or(list_transform(sides, lambda side: struct_extract(side, 'is_restricted'))), false) as is_restricted
    from segments
)

select * from current_answers
