{{ config(materialized='table') }}
{#- The questions that can be asked of a concept: without a scope (null), and with each class that its records or their successors name. -#}
with

records as (select * from {{ governed_memory.relation('records') }}),

supersessions as (
    select *
    from {{ governed_memory.relation('record_supersessions') }}
    where
        (ineffective_reason is null or ineffective_reason in ('unauthorized_supersession', 'supersession_cycle', 'cycle_undecided'))
        and (successor_applies_to is not null or successor_does_not_apply_to is not null)
),

named as (
    select
        store_id,
        concept_id,
        unnest(list_concat(coalesce(applies_to, []), coalesce(does_not_apply_to, []))) as question_class_id
    from records
    where not is_withdrawal and (applies_to is not null or does_not_apply_to is not null)
    union all
    select
        records.store_id,
        records.concept_id,
        unnest(
            list_concat(coalesce(supersessions.successor_applies_to, []), coalesce(supersessions.successor_does_not_apply_to, []))
        ) as question_class_id
    from supersessions
    inner join records
        on supersessions.store_id = records.store_id and supersessions.predecessor_index = records.record_index
),

concept_scopes as (
    select distinct store_id, concept_id, null::varchar as question_class_id
    from records
    where concept_id is not null and not is_withdrawal
    union all
    select distinct store_id, concept_id, question_class_id
    from named
    where concept_id is not null
)

select *, row_number() over () as question_number
from concept_scopes
