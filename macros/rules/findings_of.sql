{#- The findings of one rule at one severity, as tests show them: names of records and rules, and no record's value (C23). -#}
{% macro findings_of(rule_id, severity) -%}
with

findings as (select * from {{ governed_memory.relation('findings') }}),

validation_errors as (
    select
        store_id,
        record_id,
        field,
        rule_id,
        level,
        requirement,
        party_id,
        party_role
    from findings
    where rule_id = '{{ rule_id }}' and severity = '{{ severity }}'
)

select * from validation_errors
{%- endmacro %}
