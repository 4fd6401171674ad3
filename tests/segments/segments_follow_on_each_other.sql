{#- The periods of a question leave no day out: the first lies before every date, the last is open, and each begins on the day after another. -#}
with

periods as (
    select distinct store_id, concept_id, question_class_id, starts_on, ends_on
    from {{ governed_memory.relation('concept_segments') }}
),

compared as (
    select
        *,
        lag(ends_on) over (partition by store_id, concept_id, question_class_id order by starts_on nulls first) as former_end,
        row_number() over (partition by store_id, concept_id, question_class_id order by starts_on nulls first) as place,
        count(*) over (partition by store_id, concept_id, question_class_id) as period_count
    from periods
)

select store_id, concept_id, question_class_id, starts_on, ends_on
from compared
where
    (place = 1) <> (starts_on is null)
    or (place = period_count) <> (ends_on is null)
    or (place > 1 and starts_on is distinct from former_end + 1)
    or ends_on < starts_on
