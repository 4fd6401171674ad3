{#- The findings at one severity of the rule whose model the test is attached to, as tests show them: names of records and rules, and no
    record's value (C23). The model is known by its name in the project: its table may have another one, where somebody's project says so. -#}
{% macro findings_of(severity) -%}
{%- set rule_id = (model.attached_node or '').split('.') | last -%}
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
