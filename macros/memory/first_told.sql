{#- What a stream holds of each id: the event that told of it first. Writers wait for none of the others, so two may tell of one id at once; the
    event of the later one is nothing, and who wrote it is told so: held, if both told the same, else refused with `identity_conflict`. -#}
{% macro first_told(events, key) -%}
    select *
    from {{ events }}
    qualify row_number() over (partition by {{ key }} order by recorded_at, writer, seq) = 1
{%- endmacro %}
