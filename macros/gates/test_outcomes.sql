{#- The file of outcomes of tests that `vars: gates: {outcomes: FILE}` names, as `gmem gates --out FILE` writes it, as a text within quotes; none where none
    is named or it is not there, and then no test ran. -#}
{% macro outcomes_file() -%}
    {%- set file = governed_memory.named_place('gates', 'outcomes', 'FILE, as `gmem gates --out FILE` writes it') -%}
    {%- set found = run_query("select count(*) from glob('" ~ file ~ "')").columns[0].values()[0] if execute and file else 0 -%}
    {%- if execute and file and not found -%}
        {%- do exceptions.warn("vars: gates: there is no " ~ file ~ ", so every gate is false; write it with `gmem gates --out " ~ file ~ "`") -%}
    {%- endif -%}
    {{- return(file if found else none) -}}
{%- endmacro %}
