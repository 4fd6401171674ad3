{#- The fix in one sentence, and behind it the command that makes it where there is one. Names come from the item, never a value: what the
    steward has to say stands in capitals. -#}
{% macro item_fix(items, rules, fixes, builds) -%}
    coalesce({{ rules }}.fix, {{ fixes }}.sentence)
    || coalesce(': `' || {{ governed_memory.filled({
        '{store}': governed_memory.shell_word(items ~ '.store_id'),
        '{concept}': 'coalesce(' ~ governed_memory.shell_word(items ~ '.concept_id') ~ ", 'CONCEPT')",
        '{date}': 'cast(' ~ builds ~ '.on_date as varchar)',
        '{of}': "array_to_string(list_transform(" ~ items ~ ".record_ids, lambda name: '--of=' || " ~ governed_memory.shell_word('name') ~ "), ' ')",
    }, fixes ~ '.command') }} || '`', '')
{%- endmacro %}

{#- A text with blanks filled, in one pass: what fills one may look like another. Null where something that fills one is. -#}
{% macro filled(blanks, text) -%}
    list_reduce(
        list_transform(
            regexp_extract_all({{ text }}, '\{\w+\}|[^{]+'),
            lambda part: case part {% for blank, value in blanks.items() %} when '{{ blank }}' then {{ value }} {% endfor %} else part end
        ),
        lambda filled, part: filled || part
    )
{%- endmacro %}

{#- A name as a shell takes it for one word that means nothing else. -#}
{% macro shell_word(name) -%}
    case
        when regexp_full_match({{ name }}, '[A-Za-z0-9_./:@%+,-]+') then {{ name }}
        else '''' || replace({{ name }}, '''', '''\''''') || ''''
    end
{%- endmacro %}
