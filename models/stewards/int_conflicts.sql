{#- The questions of one concept that end with the same rivals are one conflict. Since when would tell a restricted side's first day, so it is
    left out where one is. -#}
with

builds as (select * from {{ governed_memory.relation('stg_build') }}),

unresolved as (
    select
        segments.store_id,
        segments.concept_id,
        segments.question_class_id,
        list_sort(list_transform(segments.sides, lambda side: side.record_id)) as record_ids,
        case when not list_bool_or(list_transform(segments.sides, lambda side: side.is_restricted)) then segments.starts_on end as starts_on
    from {{ governed_memory.relation('int_segments') }} as segments
    cross join builds
    where
        segments.resolution = 'unresolved'
        and coalesce(segments.starts_on <= builds.on_date, true) and coalesce(segments.ends_on >= builds.on_date, true)
),

conflicts as (
    select
        store_id,
        concept_id,
        record_ids,
        count(*) as affected_answers,
        min(starts_on) as since_on,
        list(question_class_id order by question_class_id) filter (where question_class_id is not null) as question_class_ids
    from unresolved
    group by all
)

select * from conflicts
