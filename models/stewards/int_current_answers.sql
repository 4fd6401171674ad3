{#- No scope and each class that the concept's records name count as one question each. -#}
select
    segments.store_id,
    segments.concept_id,
    segments.question_class_id,
    list_distinct(list_transform(segments.sides, lambda side: side.record_id)) as record_ids
from {{ governed_memory.relation('int_segments') }} as segments
cross join {{ governed_memory.relation('stg_build') }} as builds
where coalesce(segments.starts_on <= builds.on_date, true) and coalesce(segments.ends_on >= builds.on_date, true)
