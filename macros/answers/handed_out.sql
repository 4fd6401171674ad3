{#- Answers as they are handed out in bulk: to governed SQL for one date, and to the file of an audience for every date. What is withheld has been
    decided by `disclosed`; nothing here sees a record that is.

    Of `governed_answers`, one row per store and concept that it holds. -#}
{% macro visible_answers() -%}
select
    store_id,
    concept_id,
    outcome,
    reasons,
    withheld_count,
    stable_until,
    stores_disagree
from governed_answers
order by store_id, concept_id
{%- endmacro %}

{#- What one audience is told on every date: one row per store, concept, question (null: without a class) and period in which it is told the same.
    Neighbouring periods that differ only in what is withheld are one, so a boundary is there only where what is told changes. A class that only
    withheld records name stands as the hash of its name: whoever knows the name may ask with it, as anywhere, and nobody reads it here. -#}
{% macro audience_answers(parties, boundary) -%}
{%- set keys = ['store_id', 'concept_id', 'question_class_id', 'starts_on', 'ends_on'] -%}
{%- set told = ['outcome', 'record_id', 'value', 'source_id', 'valid_from', 'sides', 'reasons', 'withheld_count'] -%}
with

segments as (
    select
        *,
        case when question_class_id is null then []::varchar[] else [question_class_id] end as asked_scope,
        {{ parties }} as caller_parties,
        {{ boundary }} as caller_boundary
    from {{ governed_memory.relation('int_segments') }}
),

{{ governed_memory.disclosed('segments', keys) }},

told as (
    select {{ keys | join(', ') }}, {'{{ told[0] }}': {{ told[0] }}{% for name in told[1:] %}, '{{ name }}': {{ name }}{% endfor %}} as told
    from governed_answers
),

changes as (
    select *, told is distinct from lag(told) over question_periods as is_change
    from told
    window question_periods as (partition by store_id, concept_id, question_class_id order by starts_on nulls first)
),

numbered as (
    select *, sum(is_change::integer) over question_periods as period_number
    from changes
    window question_periods as (
        partition by store_id, concept_id, question_class_id order by starts_on nulls first rows between unbounded preceding and current row
    )
),

open_classes as (
    {{ governed_memory.open_classes(governed_memory.is_visible('is_restricted', 'release_to', parties, boundary)) }}
),

audience_answers as (
    select
        numbered.store_id,
        numbered.concept_id,
        {{ governed_memory.shown_class('numbered.question_class_id') }} as question_class_id,
        case when bool_and(starts_on is not null) then min(starts_on) end as starts_on,
        case when bool_and(ends_on is not null) then max(ends_on) end as ends_on,
        {% for name in told -%}
        told.{{ name }}{{ ',' if not loop.last }}
        {% endfor %}
    from numbered
    left join open_classes on numbered.question_class_id = open_classes.question_class_id
    group by numbered.store_id, numbered.concept_id, numbered.question_class_id, open_classes.question_class_id, period_number, told
)

select * from audience_answers
order by store_id, concept_id, question_class_id nulls first, starts_on nulls first
{%- endmacro %}

{% macro hashed_class(name) -%}
    'md5:' || md5({{ name }})
{%- endmacro %}

{#- The classes of question that the register holds or a record names that meets the condition. -#}
{% macro open_classes(is_shown) -%}
    select question_class_id from {{ governed_memory.relation('question_classes') }}
    union
    select unnest(list_concat(coalesce(applies_to, []), coalesce(does_not_apply_to, [])))
    from {{ governed_memory.relation('records') }}
    where {{ is_shown }}
{%- endmacro %}

{#- The name of a class, or its hash where it is none of `open_classes`, a clause joined on it. -#}
{% macro shown_class(name) -%}
    case
        when {{ name }} is null or open_classes.question_class_id is not null then {{ name }}
        else {{ governed_memory.hashed_class(name) }}
    end
{%- endmacro %}

{#- The rows of a file's `audience_answers` on a date, for questions without a class or of one: a class that the concept does not name has the
    answer that holds without one, as in `looked_up`. -#}
{% macro audience_answers_as_of(question_class=none) -%}
with

found as (
    select *
    from audience_answers
    where
        (question_class_id is null
        {%- if question_class %} or question_class_id in ({{ question_class }}, {{ governed_memory.hashed_class(question_class) }}){% endif %})
        and coalesce(starts_on <= cast(on_date as date), true) and coalesce(ends_on >= cast(on_date as date), true)
    qualify (question_class_id is not null) = bool_or(question_class_id is not null) over (partition by store_id, concept_id)
)

select
    store_id,
    concept_id,
    outcome,
    record_id,
    value,
    source_id,
    valid_from,
    sides,
    {% if question_class %}list_filter(reasons, lambda code: code <> 'scope_required') as {% endif %}reasons,
    withheld_count,
    {{ governed_memory.stores_disagree('concept_id') }} as stores_disagree
from found
{%- endmacro %}
