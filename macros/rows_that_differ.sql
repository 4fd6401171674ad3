{#- The rows that two clauses of the same columns do not share, as a clause `differences`. Every column is compared. -#}
{% macro rows_that_differ(first, second) -%}
differences as (
    (
        select * from {{ first }}
        except all
        select * from {{ second }}
    )
    union all
    (
        select * from {{ second }}
        except all
        select * from {{ first }}
    )
)
{%- endmacro %}
