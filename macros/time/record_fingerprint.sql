{#- A record's content as one hash: equal exactly where every field reads the same, null and '' apart. -#}
{% macro record_fingerprint() -%}
    md5(cast(to_json([
        record_id, concept_id, value, cast(valid_from as varchar), cast(valid_to as varchar), cast(is_valid_to_stated as varchar),
        source_id, concept_owner, owner_role, conflict_policy, cast(to_json(applies_to) as varchar),
        cast(to_json(does_not_apply_to) as varchar), cast(to_json(release_to) as varchar), cast(to_json(supersedes) as varchar),
        classification, confidential, restricted, withdrawal, written_by, cast(recorded_at as varchar)
    ]) as varchar))
{%- endmacro %}
