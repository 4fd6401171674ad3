{#- The first field whose shape is wrong: a list or object where text is meant, an object where a list is meant, or several names in
    one plain text of a list column (C11). supersedes may hold any text, since ids may contain commas. -#}
{% macro malformed_field() -%}
    case
        {% for role in ['record_id', 'concept', 'source', 'concept_owner', 'owner_role', 'valid_from', 'valid_to'] -%}
        when left(store_rows.{{ role }}, 1) in ('[', '{') and store_rows.{{ role }} not in ('[]', '{}') then '{{ role }}'
        {% endfor %}
        {%- for role in ['supersedes', 'applies_to', 'does_not_apply_to', 'release_to'] -%}
        when starts_with(store_rows.{{ role }}, '{') and store_rows.{{ role }} <> '{}' then '{{ role }}'
        {% if role != 'supersedes' -%}
        when store_rows.is_from_columns and starts_with(store_rows.{{ role }}, '"') and contains(store_rows.{{ role }}, ',') then '{{ role }}'
        {% endif %}
        {%- endfor -%}
    end
{%- endmacro %}
