{#- What commands have noted in the file that GMEM_HANDOVERS names; before the first of them there is none. -#}
{%- set file = env_var('GMEM_HANDOVERS', '') | replace("'", "''") -%}
{%- set found = execute and file and run_query("select 1 from glob('" ~ file ~ "')") | length -%}
{% if found %}
select
    step,
    side,
    generation,
    root,
    told_at
from read_json('{{ file }}', columns = {
    'step': 'varchar', 'side': 'varchar', 'generation': 'varchar', 'root': 'varchar', 'told_at': 'timestamp'
}, format = 'newline_delimited')
{% else %}
select
    null::varchar as step,
    null::varchar as side,
    null::varchar as generation,
    null::varchar as root,
    null::timestamp as told_at
where false
{% endif %}
