with

sources as (select * from {{ governed_memory.relation('sources') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

violations as (
    select
        stores.store_id,
        null::bigint as record_index,
        null::varchar as record_id,
        null::varchar as concept_id,
        'source' as field,
        'source_not_followable' as rule_id,
        'source ' || sources.source_id as detail
    from sources
    inner join stores on stores.store_id = coalesce(sources.store_id, stores.store_id)
    where coalesce({{ governed_memory.is_blank('sources.locator') }}, true)
)

select * from violations
