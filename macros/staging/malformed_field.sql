{#- The first field whose shape is wrong: a list or object where text is meant, an object where a list is meant, a list in
    which no entry can be read, or several names in one plain text of a list column (C11). supersedes may hold any text, since ids may contain commas. -#}
{% macro malformed_field() -%}
    {%- set text_roles = ['record_id', 'concept', 'source', 'concept_owner', 'owner_role', 'valid_from', 'valid_to'] -%}
    coalesce(
        -- JSON text begins with a quote, which sorts before both brackets: most rows need no closer look
        case when cast(greatest(store_rows.{{ text_roles | join(', store_rows.') }}) as varchar) >= '[' then case
            {% for role in text_roles -%}
            when left(store_rows.{{ role }}, 1) in ('[', '{') and store_rows.{{ role }} not in ('[]', '{}') then '{{ role }}'
            {% endfor %}
        end end,
        case
            {% for role in ['supersedes', 'applies_to', 'does_not_apply_to', 'release_to'] -%}
            when starts_with(store_rows.{{ role }}, '{') and store_rows.{{ role }} <> '{}' then '{{ role }}'
            when starts_with(store_rows.{{ role }}, '[') and store_rows.{{ role }} <> '[]' and regexp_full_match(store_rows.{{ role }}, '\[(null|"\s*"|[,\s])*\]') then '{{ role }}'
            {% if role != 'supersedes' -%}
            when store_rows.is_from_columns and starts_with(store_rows.{{ role }}, '"') and contains(store_rows.{{ role }}, ',') then '{{ role }}'
            {% endif %}
            {%- endfor -%}
        end
    )
{%- endmacro %}
