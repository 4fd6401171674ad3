{#- The file of outcomes of tests that `vars: gates: {outcomes: FILE}` names, as `gmem gates --out FILE` writes it, as a text within quotes; none where none
    is named or it is not there, and then no test ran. -#}
{% macro outcomes_file() -%}
    {%- set given = governed_memory.expect_mapping('gates', var('gates', none) or {}) -%}
    {%- if given and given.keys() | list != ['outcomes'] -%}
        {{ exceptions.raise_compiler_error("vars: gates: expected outcomes: FILE, as `gmem gates --out FILE` writes it; found " ~ tojson(given)) }}
    {%- endif -%}
    {%- set file = (given.get('outcomes') or '') | replace("'", "''") -%}
    {%- set found = run_query("select count(*) from glob('" ~ file ~ "')").columns[0].values()[0] if execute and file else 0 -%}
    {%- if execute and file and not found -%}
        {%- do exceptions.warn("vars: gates: there is no " ~ file ~ ", so every gate is false; write it with `gmem gates --out " ~ file ~ "`") -%}
    {%- endif -%}
    {{- return(file if found else none) -}}
{%- endmacro %}
