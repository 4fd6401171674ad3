{{ config(
    materialized='table_functions',
    overloads=['on_date, parties, boundary', 'on_date, parties, boundary, question_class', 'on_date, parties, boundary, scope, known_on := null']
) }}
{#- The first two ways look up what the build has worked out; the last works it out again. -#}
{%- set asked = governed_memory.every_concept('on_date', '__scope__', 'parties', 'boundary', governed_memory.scoped_concepts()) -%}
{{ governed_memory.looked_up('(' ~ asked | replace('__scope__', '[]::varchar[]') ~ ')') }}
;
{{ governed_memory.looked_up('(' ~ asked | replace('__scope__', '[cast(question_class as varchar)]') ~ ')') }}
;
{{ governed_memory.worked_out('(' ~ asked | replace('__scope__', "coalesce(cast(scope as varchar[]), [])") ~ ')', 'known_on') }}
