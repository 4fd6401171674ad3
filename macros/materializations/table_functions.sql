{#- A table function that can be called in several ways, which a single definition with defaults would have to plan all at once. `overloads`
    lists the parameters of each way; the model gives one query for each, in that order, separated by a line with a semicolon. -#}
{% materialization table_functions, adapter='duckdb' %}
    {%- set target_relation = api.Relation.create(identifier=model['alias'], schema=schema, database=database, type='view') -%}
    {%- set definitions = [] -%}
    {%- for query in sql.split('\n;\n') -%}
        {%- do definitions.append('(' ~ config.get('overloads')[loop.index0] ~ ') as table (' ~ query ~ ')') -%}
    {%- endfor -%}

    {{ run_hooks(pre_hooks, inside_transaction=False) }}
    {{ run_hooks(pre_hooks, inside_transaction=True) }}
    {% call statement('main') -%}
    create or replace function {{ target_relation.render() }} {{ definitions | join(', ') }}
    {%- endcall %}
    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {{ adapter.commit() }}
    {{ run_hooks(post_hooks, inside_transaction=False) }}
    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
