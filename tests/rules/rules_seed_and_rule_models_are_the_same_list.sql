{#- The seed `rules`, the list in rule_models() and the files in models/rules/presence and models/rules/values name the same rules, of the
    same kind and, seed and list, in the same order. -#}
{%- set files = [] -%}
{%- if execute -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.package_name == 'governed_memory' and node.fqn[1] == 'rules' -%}
        {%- if node.fqn[2] == 'presence' -%} {%- do files.append("('" ~ node.name ~ "', 'presence')") -%}
        {%- elif node.fqn[2] == 'values' -%} {%- do files.append("('" ~ node.name ~ "', 'value')") -%}
        {%- endif -%}
    {%- endfor -%}
{%- endif -%}
with

seeded as (select rule_id, kind, position from {{ governed_memory.relation('rules') }}),

listed as (
    select * from (values
        {% for rule_id in governed_memory.rule_models() -%}
        ('{{ rule_id }}', '{{ 'presence' if rule_id in governed_memory.rule_models('presence') else 'value' }}', {{ loop.index }}){{ ',' if not loop.last }}
        {% endfor %}
    ) as listed (rule_id, kind, position)
),

filed as (
    select * from (values {{ files | join(', ') or "('', '')" }}) as filed (rule_id, kind)
),

differences as (
    (select 'in the seed, not in the list' as difference, rule_id, kind from (from seeded except from listed))
    union all
    (select 'in the list, not in the seed', rule_id, kind from (from listed except from seeded))
    union all
    (select 'in the seed, without a model', rule_id, kind from (select rule_id, kind from seeded except select rule_id, kind from filed))
    union all
    (select 'a model, not in the seed', rule_id, kind from (select rule_id, kind from filed except select rule_id, kind from seeded))
)

select * from differences
