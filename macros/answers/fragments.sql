{#- What Python asks a question with, without the schema: the relation of questions stands for __asked__, the date of knowledge for __known__,
    and so on for what else a caller's read takes. -#}
{% macro answer_fragments() -%}
    {{- return({
        'looked_up': governed_memory.looked_up('(__asked__)'),
        'looked_up_one': governed_memory.looked_up_one(false),
        'looked_up_one_of_a_class': governed_memory.looked_up_one(true),
        'looked_up_one_openly': governed_memory.looked_up_one(false, is_open=true),
        'looked_up_one_of_a_class_openly': governed_memory.looked_up_one(true, is_open=true),
        'worked_out': governed_memory.worked_out('(__asked__)'),
        'worked_out_as_known': governed_memory.worked_out('(__asked__)', '__known__'),
        'explained': governed_memory.explained('(__asked__)'),
        'explained_as_known': governed_memory.explained('(__asked__)', '__known__'),
        'visible_answers': governed_memory.visible_answers(),
        'audience_answers': governed_memory.audience_answers('__parties__', '__boundary__'),
        'audience_answers_as_of': governed_memory.audience_answers_as_of(),
        'audience_answers_in_class': governed_memory.audience_answers_as_of('question_class'),
        'released': governed_memory.released('(__answers__)'),
        'every_concept': governed_memory.every_concept('__day__', '__scope__', '__parties__', '__boundary__', governed_memory.one_or_all_held()),
        'disclosed_history': governed_memory.disclosed_history(),
        'visible_beside': governed_memory.visible_beside(),
        'worked_out_one': governed_memory.worked_out(governed_memory.one_asked(), none, '$concept_id'),
        'worked_out_one_as_known': governed_memory.worked_out(governed_memory.one_asked(), '$known_on', '$concept_id'),
    }) -}}
{%- endmacro %}
