{#- The seed `rules`, the list in rule_models() and the files in models/rules/presence and models/rules/values name the same rules, of the
    same kind; seed and list in the same order. -#}
{#- It reads no rule model, but is to be left out with them where the layer is switched off. -#}
{%- do governed_memory.relation('findings') -%}
with

seeded as (select * from {{ governed_memory.relation('rules') }}),

listed as (
    {% for rule_id in governed_memory.rule_models() -%}
    select
        '{{ rule_id }}' as rule_id,
        '{{ 'presence' if rule_id in governed_memory.rule_models('presence') else 'value' }}' as kind,
        {{ loop.index }} as position
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

-- the first row stands for none, so that there is one before the graph is known
filed as (
    select
        null as rule_id,
        null as kind
    {% for node in graph.nodes.values() if execute and node.resource_type == 'model' and node.fqn[:2] == ['governed_memory', 'rules'] -%}
    {% if node.fqn[2] in ['presence', 'values'] %}
    union all
    select
        '{{ node.name }}' as rule_id,
        '{{ 'presence' if node.fqn[2] == 'presence' else 'value' }}' as kind
    {% endif %}
    {%- endfor %}
),

differences as (
    select
        coalesce(seeded.rule_id, listed.rule_id, filed.rule_id) as rule_id,
        seeded.rule_id is not null as is_in_seed,
        listed.rule_id is not null as is_in_list,
        filed.rule_id is not null as is_a_model
    from seeded
    full outer join listed
        on seeded.rule_id = listed.rule_id and seeded.kind = listed.kind and seeded.position = listed.position
    full outer join filed
        on coalesce(seeded.rule_id, listed.rule_id) = filed.rule_id and coalesce(seeded.kind, listed.kind) = filed.kind
)

select * from differences
where rule_id is not null and not (is_in_seed and is_in_list and is_a_model)
