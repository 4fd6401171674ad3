{#- The runs of the bridge that `vars: bridge: {runs: FOLDER}` names, as `gmem bridge run` appended them; none where there is no such folder. `columns` is
    {name: type}. -#}
{% macro recorded_runs(columns) -%}
    {{ governed_memory.rows_of_file(governed_memory.runs_file(), columns) }}
{%- endmacro %}

{#- The file of runs, as a text within quotes; none where nothing was run yet. -#}
{% macro runs_file() -%}
    {%- set place = governed_memory.named_place('bridge', 'runs', 'FOLDER, where `gmem bridge run --runs` keeps them') -%}
    {%- set found = run_query("select count(*) from glob('" ~ place ~ "/runs.jsonl')").columns[0].values()[0] if execute and place else 0 -%}
    {%- if execute and place and not found -%}
        {%- do exceptions.warn("vars: bridge: " ~ place ~ " holds no run yet; make one with `gmem bridge run --runs " ~ place ~ "`") -%}
    {%- endif -%}
    {{- return(place ~ '/runs.jsonl' if found else none) -}}
{%- endmacro %}
