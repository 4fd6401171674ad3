{#- What makes a finding the same one on another day: its store, rule, field and record, or its detail where it is about no record. It holds
    no record's value (G7). A record without an identifier goes by its place, which an append leaves as it is. -#}
{% macro finding_fingerprint(rows) -%}
    md5(cast(to_json([
        {{ rows }}.store_id, {{ rows }}.rule_id, {{ rows }}.field, {{ rows }}.record_id, case when {{ rows }}.record_id is null then {{ rows }}.detail end
    ]) as varchar))
{%- endmacro %}
