{#- Several records of one identifier leave no answer that can be trusted (G4). -#}
with

clashing as ({{ governed_memory.clashing_rows() }}),

records as (select * from {{ governed_memory.relation('records') }}),

refused_concepts as (
    select distinct
        records.store_id,
        records.concept_id,
        'duplicate_record_id' as reason
    from records
    semi join clashing
        on records.store_id = clashing.store_id and records.record_index = clashing.record_index
    where records.concept_id is not null
)

select * from refused_concepts
