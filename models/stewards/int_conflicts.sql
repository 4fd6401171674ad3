{#- The questions of one concept that end with the same rivals are one conflict. Since when would tell a restricted side's first day, so it is
    left out where one is. -#}
with

conflicts as (
    select
        store_id,
        concept_id,
        record_ids,
        count(*) as affected_answers,
        min(case when not is_restricted then starts_on end) as since_on,
        list(question_class_id order by question_class_id) filter (where question_class_id is not null) as question_class_ids
    from {{ governed_memory.relation('int_current_answers') }}
    where resolution = 'unresolved'
    group by store_id, concept_id, record_ids
)

select * from conflicts
