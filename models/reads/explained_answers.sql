{{ config(materialized='table_function', parameters=['on_date', 'parties', 'boundary', 'scope := null', 'known_on := null']) }}
{%- set asked = governed_memory.every_concept(
    'on_date', 'coalesce(cast(scope as varchar[]), [])', 'parties', 'boundary', governed_memory.scoped_concepts()
) -%}
select steps.store_id, asked.concept_id, steps.step, steps.record_id, steps.code, steps.explanation
from ({{ governed_memory.explained('(' ~ asked ~ ')', 'known_on') }}) as steps
inner join ({{ asked }}) as asked on steps.question_number = asked.question_number and steps.store_id = asked.store_id
