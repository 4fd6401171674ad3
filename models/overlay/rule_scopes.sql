with

records as (select * from {{ governed_memory.relation('records') }}),

rule_scopes as (
    select distinct store_id, record_id, unnest(applies_to) as question_class_id, false as is_excluded
    from records
    where applies_to is not null
    union all
    select distinct store_id, record_id, unnest(does_not_apply_to) as question_class_id, true as is_excluded
    from records
    where does_not_apply_to is not null
)

select * from rule_scopes
