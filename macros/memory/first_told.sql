{#- What a stream holds of each id: the event that told of it first. Writers wait for none of the others, so two may tell of one id at once; if
    they tell the same, it is the same, and if not, `identity_conflict` lists both. -#}
{% macro first_told(events, key) -%}
    select *
    from {{ events }}
    qualify row_number() over (partition by {{ key }} order by recorded_at, writer, seq) = 1
{%- endmacro %}
