{#- A read with one class, or with an empty list for none, and int_scoped_intervals apply the same scope rules (G2). Ten classes are enough. -#}
with

questions as (
    select distinct store_id, concept_id, question_class_id
    from {{ governed_memory.relation('int_concept_scopes') }}
    where question_class_id is null
        or question_class_id in (
            select distinct question_class_id from {{ governed_memory.relation('int_concept_scopes') }}
            where question_class_id is not null
            order by question_class_id
            limit 10
        )
),

scopes as (select distinct question_class_id from questions),

function_rows as (
    select reads.store_id, reads.concept_id, scopes.question_class_id, reads.record_index, reads.in_force_from, reads.in_force_to
    from scopes, lateral (
        select * from {{ governed_memory.relation('record_intervals_at') }}(
            scope := case when scopes.question_class_id is null then [] else [scopes.question_class_id] end
        )
    ) as reads
    semi join questions
        on reads.store_id = questions.store_id and reads.concept_id = questions.concept_id
        and scopes.question_class_id is not distinct from questions.question_class_id
    where reads.interval_status = 'in_force'
),

scoped_rows as (
    select intervals.store_id, intervals.concept_id, intervals.question_class_id, intervals.record_index, intervals.in_force_from, intervals.in_force_to
    from {{ governed_memory.relation('int_scoped_intervals') }} as intervals
    semi join questions
        on intervals.store_id = questions.store_id and intervals.concept_id = questions.concept_id
        and intervals.question_class_id is not distinct from questions.question_class_id
),

differences as (
    (from function_rows except all from scoped_rows)
    union all
    (from scoped_rows except all from function_rows)
)

select * from differences
