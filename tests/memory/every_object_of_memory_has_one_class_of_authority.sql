-- M4: each relation of memory has one row in memory_objects; those that hold cells take the class of each cell's system
{%- set relations = [] %}
{%- for node in graph.nodes.values() if node.resource_type == 'model' and node.package_name == 'governed_memory'
    and ('/memory/' in node.original_file_path or '/packets/' in node.original_file_path)
    and not node.name.startswith('int_') and not node.name.startswith('stg_') %}
{%- do relations.append(node.name) %}
{%- endfor %}
with

relations as (
    select unnest({{ relations or [] }}::varchar[]) as object
),

classified as (
    select
        object,
        count(distinct authority_class) as class_count
    from {{ ref('memory_objects') }}
    where object_kind = 'relation'
    group by object
)

select
    coalesce(relations.object, classified.object) as object,
    classified.class_count
from relations
full join classified on relations.object = classified.object
where relations.object is null or coalesce(classified.class_count, 0) <> 1
