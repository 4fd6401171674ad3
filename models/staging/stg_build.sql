{#- The one place that knows when it runs. on_date is the date that checks and "in force now" reads use. -#}
{%- set given = var("on_date") | string if var("on_date") else '' -%}
{{ config(meta={'on_date': given}) }}
{%- set is_written = given == '' or modules.re.fullmatch('[0-9]{4}-[0-9]{2}-[0-9]{2}', given) -%}
{%- if not is_written or (given and execute and run_query("select try_cast('" ~ given ~ "' as date)").columns[0].values()[0] is none) -%}
    {{ exceptions.raise_compiler_error("vars: on_date is " ~ tojson(given) ~ ", which is no date; write it as yyyy-mm-dd") }}
{%- endif %}
select
    cast('{{ given or run_started_at.strftime("%Y-%m-%d") }}' as date) as on_date,
    cast('{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S") }}' as timestamp) as built_at
