{#- Rows of the newest export of packets, as `vars: packets: {exports: FOLDER}` says where it is; none where nothing was exported yet. `columns` is
    {name: type}. The signature of the export is for whoever reads packets (`gmem packet get`); here its rows are held against the build. -#}
{% macro exported_rows(table, columns) -%}
    {%- set folder = governed_memory.newest_export() -%}
    {{ governed_memory.rows_of_file(folder ~ '/' ~ table ~ '.jsonl' if folder else none, columns) }}
{%- endmacro %}

{#- The folder that `latest` names, as a text within quotes; none where there is no export. -#}
{% macro newest_export() -%}
    {%- set place = governed_memory.named_place('packets', 'exports', 'FOLDER, where `gmem packet export` keeps them') -%}
    {%- set found = run_query("select rtrim(content, chr(10)) from read_text('" ~ place ~ "/latest*') where filename like '%/latest'").columns[0].values() if execute and place else [] -%}
    {%- if execute and place and not found -%}
        {%- do exceptions.warn("vars: packets: " ~ place ~ " holds no export yet; make one with `gmem packet export --out " ~ place ~ "`") -%}
    {%- elif found and not modules.re.fullmatch('generation-[0-9]{6,12}', found[0]) -%}
        {{ exceptions.raise_compiler_error("vars: packets: " ~ place ~ "/latest names no generation; export again") }}
    {%- endif -%}
    {{- return(place ~ '/' ~ found[0] if found else none) -}}
{%- endmacro %}
