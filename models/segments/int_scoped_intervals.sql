{#- The interval of each record in each question it applies to. Narrow on purpose: what a record says is joined after the periods are cut. -#}
with

intervals as (
    select * from {{ governed_memory.relation('record_intervals_built') }}
    where interval_status in ('in_force', 'never_in_force') and concept_id is not null
),

scopes as (select * from {{ governed_memory.relation('int_concept_scopes') }}),

supersessions as (
    select * from {{ governed_memory.relation('record_supersessions') }}
    where ineffective_reason is null
),

applicable as (
    select
        intervals.store_id,
        intervals.concept_id,
        scopes.question_class_id,
        intervals.record_index,
        intervals.valid_from,
        intervals.valid_to
    from intervals
    inner join scopes
        on intervals.store_id = scopes.store_id and intervals.concept_id = scopes.concept_id
    where {{ governed_memory.is_in_one_scope('intervals.applies_to', 'intervals.does_not_apply_to', 'scopes.question_class_id') }}
),

superseded as (
    select
        applicable.store_id,
        applicable.record_index,
        applicable.question_class_id,
        min(supersessions.successor_valid_from) as superseded_from
    from applicable
    inner join supersessions
        on applicable.store_id = supersessions.store_id and applicable.record_index = supersessions.predecessor_index
    where
        {{ governed_memory.is_in_one_scope('supersessions.successor_applies_to', 'supersessions.successor_does_not_apply_to', 'applicable.question_class_id') }}
    group by all
),

scoped_intervals as (
    select
        applicable.store_id,
        applicable.concept_id,
        applicable.question_class_id,
        applicable.record_index,
        applicable.valid_from as in_force_from,
        {{ governed_memory.earlier_date('applicable.valid_to', 'superseded.superseded_from - 1') }} as in_force_to
    from applicable
    left join superseded
        on applicable.store_id = superseded.store_id and applicable.record_index = superseded.record_index
        and applicable.question_class_id is not distinct from superseded.question_class_id
)

select * from scoped_intervals
where coalesce(in_force_to >= in_force_from, true)
