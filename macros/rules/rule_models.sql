{#- The rule models, in the order of seeds/profile/rules.csv; a test holds the two equal. kind: presence or value, or none for both. -#}
{% macro rule_models(kind=none) -%}
    {%- set presence = [
        'record_id_missing', 'valid_from_missing', 'valid_to_unstated', 'source_missing', 'concept_owner_missing',
        'conflict_policy_missing', 'release_to_missing', 'applies_to_missing', 'does_not_apply_to_missing',
        'owner_role_missing', 'supersedes_missing',
    ] -%}
    {%- set value = [
        'key_repeated', 'field_malformed', 'valid_from_invalid', 'valid_to_invalid', 'interval_inverted', 'record_id_duplicated',
        'concept_missing', 'scope_contradicted', 'conflict_policy_repeated', 'source_unknown', 'party_unknown',
        'question_class_unknown', 'concept_owner_ambiguous', 'supersession_cycle', 'supersession_unauthorized',
        'record_id_copied', 'record_id_long', 'open_end_sentinel', 'valid_to_blank', 'valid_from_is_recording_date',
        'never_in_force', 'supersedes_unresolved', 'successor_before_predecessor', 'source_not_followable',
        'expected_concept_missing', 'supersession_ineffective', 'history_rewritten',
    ] -%}
    {{- return(presence if kind == 'presence' else value if kind == 'value' else presence + value) -}}
{%- endmacro %}

{% macro union_of_rules(kind) -%}
{% for rule in governed_memory.rule_models(kind) %}
select store_id, record_index, record_id, concept_id, field, rule_id, detail from {{ governed_memory.relation(rule) }}
{% if not loop.last %}union all{% endif %}
{% endfor %}
{%- endmacro %}
