{{ config(
    materialized='table_functions',
    overloads=['on_date, parties, boundary', 'on_date, parties, boundary, question_class', 'on_date, parties, boundary, scope, known_on := null']
) }}
{#- The first two ways look up what the build has worked out; the last works it out again. -#}
{%- set asked -%}
    select
        dense_rank() over (order by concept_id) as question_number,
        store_id,
        concept_id,
        cast(on_date as date) as asked_on,
        __scope__ as asked_scope,
        cast(parties as varchar[]) as caller_parties,
        boundary as caller_boundary
    from (
        select store_id, concept_id
        from {{ governed_memory.relation('int_concept_scopes') }}
        where question_class_id is null
        union
        select store_id, concept_id
        from {{ governed_memory.relation('stg_integrity_failures') }}
        where concept_id is not null
    )
{%- endset -%}
{{ governed_memory.looked_up('(' ~ asked | replace('__scope__', '[]::varchar[]') ~ ')') }}
;
{{ governed_memory.looked_up('(' ~ asked | replace('__scope__', '[cast(question_class as varchar)]') ~ ')') }}
;
{{ governed_memory.worked_out('(' ~ asked | replace('__scope__', "coalesce(cast(scope as varchar[]), [])") ~ ')', 'known_on') }}
