{{ config(materialized='table') }}
with

refused as (select * from {{ governed_memory.relation('int_refused_concepts') }}),

questions as (
    select
        question_number,
        store_id,
        concept_id,
        case when question_class_id is null then [] else [question_class_id] end as asked_scope
    from {{ governed_memory.relation('int_concept_scopes') }}
    anti join refused using (store_id, concept_id)
),

candidates as (select * from {{ governed_memory.relation('records') }}),

standings as (select * from {{ governed_memory.relation('int_standings') }}),

edges as (select * from {{ governed_memory.relation('record_supersessions') }}),

{{ governed_memory.stretches() }}

select * from stretches
