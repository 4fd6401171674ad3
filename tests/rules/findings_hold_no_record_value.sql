{#- Neither the column nor a quotation of it: a steward may see a finding without being able to read the record (G7, C23). Quotations
    are looked for of values long enough to be sentences and no identifiers, in the example stores. -#}
with

findings as (select * from {{ governed_memory.relation('findings') }}),

record_rows as (select * from {{ governed_memory.relation('record_rows') }}),

quotations as (
    select
        findings.store_id,
        findings.record_id,
        findings.rule_id
    from findings
    inner join record_rows
        on findings.store_id = record_rows.store_id and findings.record_index = record_rows.record_index
    where findings.store_id in ('reference', 'reference_edges') and length(record_rows.value) > 20 and contains(findings.detail, record_rows.value)
)

select * from quotations
{%- if execute and 'value' in adapter.get_columns_in_relation(ref('governed_memory', 'findings')) | map(attribute='name') | list %}
union all
select 'findings has a column named value', null, null
{%- endif %}
