{#- What a caller must be allowed to see before being told when an answer may change - the concept's records, and whatever replaces them - as a
    clause `holdings`, one row per store and concept. `candidates` names a clause of records, whole concepts at a time; `edges` one of the
    supersessions onto them. -#}
{% macro holdings(candidates, edges) -%}
held as (
    select store_id, concept_id, not is_withdrawal as can_answer, is_validity_known, is_restricted, release_to
    from {{ candidates }}
    where concept_id is not null
    union all
    select
        predecessors.store_id,
        predecessors.concept_id,
        false as can_answer,
        false as is_validity_known,
        successors.is_restricted,
        successors.release_to
    from {{ edges }} as edges
    inner join {{ candidates }} as predecessors
        on edges.store_id = predecessors.store_id and edges.predecessor_index = predecessors.record_index
    inner join {{ governed_memory.relation('records') }} as successors
        on edges.store_id = successors.store_id and edges.successor_index = successors.record_index
    where predecessors.concept_id is not null and predecessors.concept_id is distinct from successors.concept_id
),

holdings as (
    select
        store_id,
        concept_id,
        count(*) filter (where can_answer) as held_count,
        count(*) filter (where can_answer and is_validity_known) as known_count,
        bool_or(not is_restricted) as holds_open,
        list_sort(list(distinct coalesce(release_to, [])) filter (where is_restricted)) as held_for
    from held
    group by store_id, concept_id
)
{%- endmacro %}
