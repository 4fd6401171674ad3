{#- The fix in one sentence, and behind it the command that makes it where there is one. Names come from the item, never a value: what the
    steward has to say stands in capitals. No command appends to a store whose rows are neither in a file nor in a table that it can name; there
    the fix says where they are. -#}
{% macro item_fix(items, rules, fixes, builds, stores) -%}
    coalesce({{ fixes }}.sentence, {{ rules }}.fix)
    || case
        when {{ fixes }}.command like 'gmem supersede %' and regexp_matches({{ stores }}.location, '^[^''"]')
            then
                '; make that change where the rows are kept: '
                || regexp_replace({{ stores }}.location, '^(\w+)\((\w+), (.+)\)$', '\3, which the plugin \1 reads as \2')
        when {{ fixes }}.command like '%{of}%' and {{ items }}.record_ids is null then ''
        else coalesce(': `' || {{ governed_memory.filled({
            '{store}': governed_memory.shell_word(items ~ '.store_id'),
            '{concept}': 'coalesce(' ~ governed_memory.shell_word(items ~ '.concept_id') ~ ", 'CONCEPT')",
            '{date}': 'cast(' ~ builds ~ '.on_date as varchar)',
            '{cell}': governed_memory.shell_word(items ~ '.record_id'),
            '{trust}': governed_memory.shell_word("to_json({'target_id': " ~ items ~ ".record_id, 'kind': 'trust', 'reason': 'WHY'})::varchar"),
            '{of}': "array_to_string(list_transform(" ~ items ~ ".record_ids, lambda name: '--of=' || " ~ governed_memory.shell_word('name') ~ "), ' ')",
        }, fixes ~ '.command') }} || '`', '')
    end
{%- endmacro %}

{#- A text with blanks filled, in one pass: what fills one may look like another. -#}
{% macro filled(blanks, text) -%}
    array_to_string(list_transform(
        regexp_extract_all({{ text }}, '\{\w+\}|[^{]+'),
        lambda part: case part {% for blank, value in blanks.items() %} when '{{ blank }}' then {{ value }} {% endfor %} else part end
    ), '')
{%- endmacro %}

{#- A name as a shell takes it for one word that means nothing else. -#}
{% macro shell_word(name) -%}
    case
        when regexp_full_match({{ name }}, '[A-Za-z0-9_./:@%+,-]+') then {{ name }}
        else '''' || replace({{ name }}, '''', '''\''''') || ''''
    end
{%- endmacro %}
