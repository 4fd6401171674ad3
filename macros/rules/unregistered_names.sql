{#- The offenders of a rule that names in records are in a register, where there is one. fields: {field of the record: SQL that gives its names}. -#}
{% macro unregistered_names(rule_id, register, key, fields) -%}
with

register as (select * from {{ governed_memory.relation(register) }}),

-- without a register the rule asks nothing, and no record is read
registered as (select 1 as is_registered from register limit 1),

records as (
    select records.*
    from {{ governed_memory.relation('records') }} as records
    cross join registered
),

named as (
    {% for field, names in fields.items() -%}
    select
        store_id,
        record_index,
        record_id,
        concept_id,
        '{{ field }}' as field,
        {{ names }} as {{ key }}
    from records
    where {{ field }} is not null
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

violations as (
    select distinct
        named.store_id,
        named.record_index,
        {{ governed_memory.offender_of('named') }} as record_id,
        named.concept_id,
        named.field,
        '{{ rule_id }}' as rule_id,
        null::varchar as detail
    from named
    anti join register on named.{{ key }} = register.{{ key }}
)

select * from violations
{%- endmacro %}
