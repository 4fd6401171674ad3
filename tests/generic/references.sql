{#- Rows whose columns, all filled, have no equal row in `to`: `relationships` for a key of several columns. A register may be left
    out, so with is_register an empty `to` passes: there is nothing to hold the rows against. -#}
{% test references(model, columns, to, to_columns=none, is_register=false) %}
{%- set to_columns = to_columns or columns -%}
{%- if columns | length != to_columns | length -%}
    {{ exceptions.raise_compiler_error("references: columns names " ~ columns | length ~ " columns and to_columns " ~ to_columns | length ~ "; they are compared in pairs") }}
{%- endif -%}
with

children as (
    select {{ columns | join(', ') }}
    from {{ model }}
    where {% for column in columns %}{{ column }} is not null{{ ' and ' if not loop.last }}{% endfor %}
),

parents as (select {{ to_columns | join(', ') }} from {{ to }}),

validation_errors as (
    select distinct children.*
    from children
    anti join parents
        on {% for column in columns %}children.{{ column }} = parents.{{ to_columns[loop.index0] }}{{ ' and ' if not loop.last }}{% endfor %}
    {% if is_register %} where exists (select 1 from parents) {% endif %}
)

select * from validation_errors
{% endtest %}
