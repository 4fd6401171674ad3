{#- The one place that knows when it runs. on_date is the date that checks and "in force now" reads use. -#}
{{ config(meta={'on_date': var("on_date") | string}) }}
select
    cast('{{ var("on_date") or run_started_at.strftime("%Y-%m-%d") }}' as date) as on_date,
    cast('{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S") }}' as timestamp) as built_at
