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
        bool_or(object_kind = 'relation') as is_always_there,
        count(distinct authority_class) as class_count
    from {{ ref('memory_objects') }}
    where object_kind in ('relation', 'packet_relation')
    group by object
)

select
    coalesce(relations.object, classified.object) as object,
    classified.class_count
from relations
full join classified on relations.object = classified.object
-- packets may be left out where the layers below them are
where relations.object is null and classified.is_always_there or relations.object is not null and coalesce(classified.class_count, 0) <> 1
