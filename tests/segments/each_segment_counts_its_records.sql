with

segments as (
    select
        store_id,
        concept_id,
        question_class_id,
        starts_on,
        in_force_count,
        count(*) as row_count,
        count(valid_from) as record_count
    from {{ governed_memory.relation('concept_segments') }}
    group by all
)

-- a period in which nothing is in force keeps one row, without a record
select * from segments
where record_count <> in_force_count or row_count <> greatest(in_force_count, 1)
