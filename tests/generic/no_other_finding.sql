{#- Attach to a rule model: its findings that only warn, namely of a SHOULD, or of a MUST above the level its store declares (L3). See
    no_required_finding, of which it is the other half. -#}
{% test no_other_finding(model) %}
{{ config(severity='warn') }}
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
    where rule_id = '{{ model.identifier }}' and severity = 'warning'
)

select * from validation_errors
{% endtest %}
