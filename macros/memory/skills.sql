{#- The tools that a trace is a run of, in order: those it was to call, where it says so, else those it called. A run that broke off is one of the
    whole way only where it says what that was. -#}
{% macro tools_of(traces) -%}
    coalesce(nullif({{ traces }}.planned_tools, []), {{ governed_memory.tools_called(traces) }})
{%- endmacro %}

{% macro tools_called(traces) -%}
    list_transform({{ traces }}.steps, lambda step: struct_extract(step, 'tool'))
{%- endmacro %}

{% macro inputs_called(traces) -%}
    list_transform({{ traces }}.steps, lambda step: struct_extract(step, 'inputs_hash'))
{%- endmacro %}

{#- What skills compare traces by (M8): the skill and its tools in order. -#}
{% macro trace_signature(traces) -%}
    sha256(to_json({'kind': 'skill', 'skill': {{ traces }}.skill, 'tools': {{ governed_memory.tools_of(traces) }}})::varchar)
{%- endmacro %}

{#- Wilson's interval of a rate: its lower bound with side '-', its upper one with '+'. `z` is how many standard deviations wide it is to either
    side: 1.96 for 95 %. Of few runs it is wide, so that three of three are not yet always. Rounded, so that every machine has the same. -#}
{% macro wilson_bound(successes, runs, z, side) -%}
    round(
        ({{ successes }} + {{ z }} * {{ z }} / 2 {{ side }} {{ z }} * sqrt({{ successes }} * ({{ runs }} - {{ successes }}) / {{ runs }} + {{ z }} * {{ z }} / 4))
        / ({{ runs }} + {{ z }} * {{ z }}), 6
    )
{%- endmacro %}
