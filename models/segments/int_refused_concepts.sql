{#- A concept whose records were all removed is refused too: what is signed still names it (G9). -#}
with

records as (select * from {{ governed_memory.relation('records') }}),

concepts as (
    select store_id, concept_id from records
    union
    select store_id, concept_id from {{ governed_memory.relation('stg_integrity_failures') }}
),

refused_concepts as (
    {{ governed_memory.refused_concepts('concepts', 'records') }}
)

select * from refused_concepts
