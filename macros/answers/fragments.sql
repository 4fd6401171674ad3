{#- What Python asks a question with, without the schema: the relation of questions stands for __asked__, the date of knowledge for __known__,
    and so on for what else a caller's read takes. -#}
{% macro answer_fragments() -%}
    {{- return({
        'looked_up': governed_memory.looked_up('(__asked__)'),
        'looked_up_one': governed_memory.looked_up_one(false),
        'looked_up_one_of_a_class': governed_memory.looked_up_one(true),
        'worked_out': governed_memory.worked_out('(__asked__)'),
        'worked_out_as_known': governed_memory.worked_out('(__asked__)', '__known__'),
        'explained': governed_memory.explained('(__asked__)'),
        'explained_as_known': governed_memory.explained('(__asked__)', '__known__'),
        'visible_answers': governed_memory.visible_answers(),
        'audience_answers': governed_memory.audience_answers('__parties__', '__boundary__'),
        'audience_answers_as_of': governed_memory.audience_answers_as_of(),
        'audience_answers_in_class': governed_memory.audience_answers_as_of('question_class'),
        'released': governed_memory.released('(__answers__)'),
        'every_concept': governed_memory.every_concept(),
        'disclosed_history': governed_memory.disclosed_history(),
        'visible_beside': governed_memory.visible_beside(),
        'reported_histories': governed_memory.reported_histories(),
        'reported_periods': governed_memory.reported_periods(),
        'disclosed_periods': governed_memory.disclosed_periods(),
        'reported_concepts': governed_memory.reported_concepts(),
        'reported_findings': governed_memory.reported_findings(),
        'disclosed_findings': governed_memory.disclosed_findings(),
        'reported_policies': governed_memory.reported_policies(),
        'worked_out_one': governed_memory.worked_out(governed_memory.one_asked(), none, '$concept_id'),
        'worked_out_one_as_known': governed_memory.worked_out(governed_memory.one_asked(), '$known_on', '$concept_id'),
    }) -}}
{%- endmacro %}

{#- One question as parameters, in the shape of `asked`. -#}
{% macro one_asked() -%}
    (select
        0 as question_number, $store_id::varchar as store_id, $concept_id as concept_id, $asked_on::date as asked_on,
        $asked_scope::varchar[] as asked_scope, $parties::varchar[] as caller_parties, $boundary as caller_boundary)
{%- endmacro %}
