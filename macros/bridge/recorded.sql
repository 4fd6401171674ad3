{#- The runs of the bridge that `vars: bridge: {runs: FOLDER}` names, as `gmem bridge run` appended them; none where there is no such folder. `columns` is
    {name: type}. -#}
{% macro recorded_runs(columns) -%}
    {{ governed_memory.rows_of_file(governed_memory.runs_file(), columns) }}
{%- endmacro %}

{#- The file of runs, as a text within quotes; none where nothing was run yet. -#}
{% macro runs_file() -%}
    {%- set given = governed_memory.expect_mapping('bridge', var('bridge', none) or {}) -%}
    {%- if given and given.keys() | list != ['runs'] -%}
        {{ exceptions.raise_compiler_error("vars: bridge: expected runs: FOLDER, where `gmem bridge run --runs` keeps them; found " ~ tojson(given)) }}
    {%- endif -%}
    {%- set place = (given.get('runs') or '') | replace("'", "''") -%}
    {%- set found = run_query("select count(*) from glob('" ~ place ~ "/runs.jsonl')").columns[0].values()[0] if execute and place else 0 -%}
    {%- if execute and place and not found -%}
        {%- do exceptions.warn("vars: bridge: " ~ place ~ " holds no run yet; make one with `gmem bridge run --runs " ~ place ~ "`") -%}
    {%- endif -%}
    {{- return(place ~ '/runs.jsonl' if found else none) -}}
{%- endmacro %}
