{#- A concept that no register names has one answer (G10). -#}
with

register as (select * from {{ governed_memory.relation('stg_concepts') }}),

held as (
    select distinct concept_id
    from {{ governed_memory.relation('record_rows') }}
    where concept_id is not null
),

concepts as (
    select
        coalesce(held.concept_id, register.concept_id) as concept_id,
        coalesce(register.cardinality, 'one') as cardinality
    from held
    full outer join register on held.concept_id = register.concept_id
)

select * from concepts
