with

records as (select * from {{ governed_memory.relation('records') }}),

sources as (select * from {{ governed_memory.relation('sources') }}),

registered as (select distinct store_id from sources),

violations as (
    select
        records.store_id,
        records.record_index,
        {{ governed_memory.offender_of('records') }} as record_id,
        records.concept_id,
        'source' as field,
        'source_unknown' as rule_id,
        null::varchar as detail
    from records
    semi join registered
        on records.store_id = coalesce(registered.store_id, records.store_id)
    anti join sources
        on records.source_id = sources.source_id and records.store_id = coalesce(sources.store_id, records.store_id)
    where records.source_id is not null
)

select * from violations
