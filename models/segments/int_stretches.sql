{{ config(materialized='table') }}
with

refused as (select * from {{ governed_memory.relation('int_refused_concepts') }}),

questions as (
    select
        scopes.question_number,
        scopes.store_id,
        scopes.concept_id,
        case when scopes.question_class_id is null then [] else [scopes.question_class_id] end as asked_scope
    from {{ governed_memory.relation('int_concept_scopes') }} as scopes
    anti join refused on scopes.store_id = refused.store_id and scopes.concept_id = refused.concept_id
),

candidates as (select * from {{ governed_memory.relation('records') }}),

standings as (select * from {{ governed_memory.relation('int_standings') }}),

edges as (select * from {{ governed_memory.relation('record_supersessions') }}),

{{ governed_memory.stretches() }}

select * from stretches
