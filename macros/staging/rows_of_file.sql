{#- The rows of a file of JSON Lines, as a text within quotes; none where there is no file. `columns` is {name: type}. -#}
{% macro rows_of_file(file, columns) -%}
    {%- if not file %}
    select
        {%- for name, type in columns.items() %}
        null::{{ type }} as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    where false
    {%- else %}
    select *
    from read_json('{{ file }}', columns = {{ columns }}, format = 'newline_delimited', maximum_object_size = 67108864)
    {%- endif %}
{%- endmacro %}
