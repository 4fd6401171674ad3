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
{% macro edges_where(rule_id, condition, source='int_ineffective_supersessions') -%}
with

supersessions as (
    select distinct store_id, successor_index, predecessor_id
    from {{ governed_memory.relation(source) }}
    where {{ condition }}
),

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

violations as (
    select
        record_rows.store_id,
        record_rows.record_index,
        {{ governed_memory.offender_of('record_rows') }} as record_id,
        record_rows.concept_id,
        'supersedes' as field,
        '{{ rule_id }}' as rule_id,
        'supersedes ' || supersessions.predecessor_id as detail
    from record_rows
    inner join supersessions
        on record_rows.store_id = supersessions.store_id and record_rows.record_index = supersessions.successor_index
)

select * from violations
{%- endmacro %}
