{{ config(materialized='table_function', parameters=['on_date', 'parties', 'boundary', 'scope := null', 'known_on := null']) }}
{%- set asked -%}
    select
        dense_rank() over (order by concept_id) as question_number,
        store_id,
        concept_id,
        cast(on_date as date) as asked_on,
        coalesce(cast(scope as varchar[]), []) as asked_scope,
        cast(parties as varchar[]) as caller_parties,
        boundary as caller_boundary
    from {{ governed_memory.relation('int_concept_scopes') }}
    where question_class_id is null
{%- endset -%}
select steps.store_id, asked.concept_id, steps.step, steps.record_id, steps.code, steps.explanation
from ({{ governed_memory.explained('(' ~ asked ~ ')', 'known_on') }}) as steps
inner join ({{ asked }}) as asked on steps.question_number = asked.question_number and steps.store_id = asked.store_id
