{#- What leaves with restricted records: all but how many they are. -#}
with

periods as (select * from {{ governed_memory.relation('int_concept_periods') }}),

concept_periods as (
    select
        store_id,
        concept_id,
        is_scoped,
        question_class_id,
        starts_on,
        ends_on,
        case when is_restricted then 'withheld' else status end as status,
        record_count,
        open_record_ids as record_ids,
        case when not is_restricted then record_id end as record_id,
        case when not is_restricted then value end as value,
        case when not is_restricted then source_id end as source_id,
        case when not is_restricted then concept_owner end as concept_owner,
        case when not is_restricted then valid_from end as valid_from,
        is_restricted,
        has_many_periods
    from periods
)

select * from concept_periods
