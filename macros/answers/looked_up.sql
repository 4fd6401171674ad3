{#- Answers to questions that are a lookup: at most one class of scope, as known now. `asked` is a relation of question_number, store_id
    (null for every store), concept_id, asked_on, asked_scope (a list, empty for none), caller_parties (a list) and caller_boundary. One row per question and
    store. -#}
{% macro looked_up(asked) -%}
with

asked as (select * from {{ asked }}),

questions as (
    select asked.* exclude (store_id), stores.store_id
    from asked
    inner join {{ governed_memory.relation('stores') }} as stores
        on stores.store_id = coalesce(asked.store_id, stores.store_id)
),

-- a concept of which the store holds no record has no segment
failed as ({{ governed_memory.failed_concepts('questions') }}),

-- a class that the concept does not name has the answer that holds without one
found as (
    select
        questions.*,
        segments.* exclude (store_id, concept_id, resolution, reasons, for_nobody_count, relevant_count, restricted_count),
        {{ governed_memory.as_found('segments', 'failed') }}
    from questions
    left join failed on questions.store_id = failed.store_id and questions.concept_id = failed.concept_id
    left join {{ governed_memory.relation('int_segments') }} as segments
        on questions.store_id = segments.store_id and questions.concept_id = segments.concept_id
        and (segments.question_class_id is null or segments.question_class_id = questions.asked_scope[1])
        and {{ governed_memory.covers('segments', 'questions.asked_on') }}
    qualify row_number() over (partition by questions.question_number, questions.store_id order by segments.question_class_id nulls last) = 1
),

{{ governed_memory.disclosed('found', ['question_number', 'store_id', 'concept_id', 'asked_on']) }}

select *, {{ governed_memory.stores_disagree('question_number') }} as stores_disagree
from governed_answers
{%- endmacro %}

{#- The answer to one question to one store that is a lookup: as `looked_up`, in a statement that is planned in a few milliseconds, which is
    nearly all that it takes. No row where nothing is held. Parameters: $store_id, $concept_id, $asked_on, $parties, $boundary, and with
    a class $question_class_id. `is_open` makes it shorter still, for a caller inside the boundary and without the last two: it has no row
    either where the concept holds a restricted record. -#}
{% macro looked_up_one(has_class, is_open=false) -%}
with

-- by itself, so that only these rows are read whole
concept as materialized (
    select * from {{ governed_memory.relation('int_segments') }}
    where concept_id = $concept_id
),

found as (
    select
        *
        {%- if not is_open -%}
        ,
        {{ '[$question_class_id]' if has_class else '[]' }}::varchar[] as asked_scope,
        $parties::varchar[] as caller_parties,
        $boundary as caller_boundary
        {%- endif %}
    from concept
    where
        store_id = $store_id
        and {{ governed_memory.covers('concept', '$asked_on::date') }}
        {% if has_class -%}
        and (question_class_id is null or question_class_id = $question_class_id)
    order by question_class_id nulls last
    limit 1
        {%- else -%}
        and question_class_id is null
        {%- endif %}
)
{%- if is_open %}
{{ governed_memory.disclosed_openly('found', has_class) }}
{%- else -%}
,

{{ governed_memory.disclosed('found', ['store_id']) }}

select * from governed_answers
{%- endif %}
{%- endmacro %}

{#- Where the segments are that answer the same question about several concepts. Parameters: $concepts, $store_id (null for every store), $asked_on,
    $question_class_id (null for none). -#}
{% macro segment_places() -%}
select rowid as place
from {{ governed_memory.relation('int_segments') }} as segments
where
    concept_id in (select unnest($concepts::varchar[]))
    and ($store_id::varchar is null or store_id = $store_id)
    and (question_class_id is null or question_class_id = $question_class_id::varchar)
    and {{ governed_memory.covers('segments', '$asked_on::date') }}
{%- endmacro %}

{#- The answers of segments by their places: as `looked_up`, but without a row where nothing is held, in no order, and with whether the caller may see
    all of the concept. Reading a segment whole is most of what an answer takes, and by a list of places only those are read. `is_of_one_store`: the places
    are of one store, so that none can disagree; to find out is a third of the statement's time. Parameters: $places, $question_class_id (null for none),
    $parties, $boundary. -#}
{% macro looked_up_several(is_of_one_store=false) -%}
with

-- a class that the concept does not name has the answer that holds without one
found as (
    select
        *,
        case when $question_class_id::varchar is null then [] else [$question_class_id] end::varchar[] as asked_scope,
        $parties::varchar[] as caller_parties,
        $boundary as caller_boundary
    from {{ governed_memory.relation('int_segments') }}
    where rowid in (select unnest($places::bigint[]))
    qualify row_number() over (partition by store_id, concept_id order by question_class_id nulls last) = 1
),

{{ governed_memory.disclosed('found', ['store_id', 'concept_id'], tells_whole=true) }}

select *, {{ 'false' if is_of_one_store else governed_memory.stores_disagree('concept_id') }} as stores_disagree
from governed_answers
{%- endmacro %}

{#- The columns of a segment that say something where there is none: nothing is held, or nothing is left of what was signed. -#}
{% macro as_found(segment, failed) -%}
    coalesce({{ segment }}.resolution, case when {{ failed }}.concept_id is null then 'empty' else 'refused' end) as resolution,
    coalesce({{ segment }}.reasons, [case when {{ failed }}.concept_id is null then 'not_held' else 'integrity_failed' end]) as reasons,
    coalesce({{ segment }}.for_nobody_count, 0) as for_nobody_count,
    coalesce({{ segment }}.relevant_count, 0) as relevant_count,
    coalesce({{ segment }}.restricted_count, 0) as restricted_count
{%- endmacro %}

{% macro covers(period, on_date) -%}
    coalesce({{ period }}.starts_on <= {{ on_date }}, true) and coalesce({{ period }}.ends_on >= {{ on_date }}, true)
{%- endmacro %}
