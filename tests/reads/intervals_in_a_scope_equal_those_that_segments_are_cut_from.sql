{#- A read with one class, or with an empty list for none, and int_scoped_intervals apply the same scope rules (G2). Ten classes are enough. -#}
with

concept_scopes as (select * from {{ governed_memory.relation('int_concept_scopes') }}),

scopes as (
    select distinct
        question_class_id,
        case when question_class_id is null then [] else [question_class_id] end as classes
    from concept_scopes
    qualify dense_rank() over (order by question_class_id nulls first) <= 11
),

function_rows as (
    select
        intervals.store_id,
        intervals.concept_id,
        scopes.question_class_id,
        intervals.record_index,
        intervals.in_force_from,
        intervals.in_force_to
    from scopes
    cross join lateral (select * from {{ governed_memory.relation('record_intervals_at') }}(scope := scopes.classes)) as intervals
    semi join concept_scopes
        on intervals.store_id = concept_scopes.store_id and intervals.concept_id = concept_scopes.concept_id
        and scopes.question_class_id is not distinct from concept_scopes.question_class_id
    where intervals.interval_status = 'in_force'
),

scoped_rows as (
    select intervals.*
    from {{ governed_memory.relation('int_scoped_intervals') }} as intervals
    semi join scopes on intervals.question_class_id is not distinct from scopes.question_class_id
),

differences as (
    (
        select store_id, concept_id, question_class_id, record_index, in_force_from, in_force_to from function_rows
        except all
        select store_id, concept_id, question_class_id, record_index, in_force_from, in_force_to from scoped_rows
    )
    union all
    (
        select store_id, concept_id, question_class_id, record_index, in_force_from, in_force_to from scoped_rows
        except all
        select store_id, concept_id, question_class_id, record_index, in_force_from, in_force_to from function_rows
    )
)

select * from differences
