{#- The offenders of a rule about single rows, in the shape all rule models share (L5). `detail` never holds a record's value (G7). -#}
{% macro rows_where(rule_id, field, condition, source='record_rows', detail='null') -%}
select
    store_id,
    record_index,
    {{ governed_memory.offender() }} as record_id,
    concept_id,
    '{{ field }}' as field,
    '{{ rule_id }}' as rule_id,
    cast({{ detail }} as varchar) as detail
from {{ governed_memory.relation(source) }}
where {{ condition }}
{%- endmacro %}

{#- A record without an identifier is named by its place in the store, counted from 0 as the published checker does. -#}
{% macro offender() -%}
    coalesce(record_id, '#' || (record_index - 1))
{%- endmacro %}

{% macro offender_of(rows) -%}
    coalesce({{ rows }}.record_id, '#' || ({{ rows }}.record_index - 1))
{%- endmacro %}

{#- The offenders of a rule about supersessions: the successors. -#}
{% macro edges_where(rule_id, condition) -%}
select
    store_id,
    successor_index as record_index,
    coalesce(successor_id, '#' || (successor_index - 1)) as record_id,
    predecessor_concept_id as concept_id,
    'supersedes' as field,
    '{{ rule_id }}' as rule_id,
    'supersedes ' || predecessor_id || coalesce(': ' || ineffective_reason, '') as detail
from {{ governed_memory.relation('record_supersessions') }}
where {{ condition }}
{%- endmacro %}
