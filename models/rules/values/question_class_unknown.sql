with

records as (select * from {{ governed_memory.relation('records') }}),

question_classes as (select * from {{ governed_memory.relation('question_classes') }}),

named as (
    select store_id, record_index, record_id, concept_id, 'applies_to' as field, unnest(applies_to) as question_class_id
    from records
    where applies_to is not null
    union all
    select store_id, record_index, record_id, concept_id, 'does_not_apply_to' as field, unnest(does_not_apply_to) as question_class_id
    from records
    where does_not_apply_to is not null
),

violations as (
    select distinct
        named.store_id,
        named.record_index,
        {{ governed_memory.offender_of('named') }} as record_id,
        named.concept_id,
        named.field,
        'question_class_unknown' as rule_id,
        null::varchar as detail
    from named
    anti join question_classes on named.question_class_id = question_classes.question_class_id
    where (select count(*) from {{ governed_memory.relation('question_classes') }}) > 0
)

select * from violations
