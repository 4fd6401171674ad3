{#- The findings at one severity of the rule whose model the test is attached to, as tests show them: names of records and rules, and no
    record's value (C23). The model is known by its name in the project: its table may have another one, where somebody's project says so. -#}
{% macro findings_of(severity) -%}
{%- set rule_id = (model.attached_node or '').split('.') | last -%}
{%- if severity == 'error' and execute and flags.WHICH in ('build', 'test') -%} {%- do governed_memory.tell_findings(rule_id) -%} {%- endif -%}
with

findings as (select * from {{ governed_memory.relation('int_required_findings' if severity == 'error' else 'findings') }}),

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


{#- What fails the build, on the console: dbt itself only counts the rows of a test. At most five records of a rule are named, and no value. -#}
{% macro tell_findings(rule_id) -%}
    {%- set findings = governed_memory.relation('int_required_findings') -%}
    {%- if load_relation(ref('governed_memory', 'int_required_findings')) is none -%} {{- return('') -}} {%- endif -%}
    {%- set found = run_query(
        "select store_id, count(*) as found, regexp_replace(array_to_string(min(coalesce(record_id, detail), 5), ', '), '[[:cntrl:]]', '?', 'g') as records, coalesce(party_id, 'nobody named') as party, party_role from "
        ~ findings ~ " where rule_id = '" ~ rule_id ~ "' group by store_id, party_id, party_role order by store_id, found desc, party"
    ) -%}
    {%- for row in found.rows -%}
        {%- set more = ' and ' ~ (row['found'] - 5) ~ ' more' if row['found'] > 5 else '' -%}
        {%- set role = ' (' ~ row['party_role'] ~ ')' if row['party_role'] else '' -%}
        {%- do log("store " ~ row['store_id'] ~ " fails " ~ rule_id ~ ": " ~ row['records'] ~ more ~ "; for " ~ row['party'] ~ role ~ ". All of them: `gmem status`, table findings", info=true) -%}
    {%- endfor -%}
{%- endmacro %}
