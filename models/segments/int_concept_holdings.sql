{{ config(materialized='table') }}
{#- What a caller must be allowed to see before being told when an answer may change: the concept's records, and whatever replaces them. -#}
with

records as (select * from {{ governed_memory.relation('records') }}),

edges as (select * from {{ governed_memory.relation('int_supersession_edges') }}),

held as (
    select store_id, concept_id, is_validity_known, is_withdrawal, is_restricted, release_to, false as is_successor
    from records
    where concept_id is not null
    union all
    select
        predecessors.store_id,
        predecessors.concept_id,
        false as is_validity_known,
        true as is_withdrawal,
        successors.is_restricted,
        successors.release_to,
        true as is_successor
    from edges
    inner join records as predecessors
        on edges.store_id = predecessors.store_id and edges.predecessor_index = predecessors.record_index
    inner join records as successors
        on edges.store_id = successors.store_id and edges.successor_index = successors.record_index
    where predecessors.concept_id is distinct from successors.concept_id
),

concept_holdings as (
    select
        store_id,
        concept_id,
        count(*) filter (where is_validity_known and not is_withdrawal) as known_count,
        bool_or(not is_restricted) as holds_open,
        list_sort(list(distinct coalesce(release_to, [])) filter (where is_restricted)) as held_for
    from held
    where concept_id is not null
    group by store_id, concept_id
)

select * from concept_holdings
