{{ config(materialized='table') }}
{#- Edges join rows, not ids: where two rows share an id, each has its own edge, and supersession_reasons refuses them. -#}
with

records as (select * from {{ governed_memory.relation('records') }}),

claims as (
    select
        store_id,
        record_index,
        record_id,
        valid_from,
        known_at,
        is_withdrawal,
        applies_to,
        does_not_apply_to,
        unnest(case when len(supersedes) > 1 then list_distinct(supersedes) else supersedes end) as predecessor_id
    from records
    where supersedes is not null
),

-- few successors have a scope: compared apart, so that no other edge carries lists through the join
narrower as (
    select
        claims.store_id,
        claims.record_index,
        claims.predecessor_id,
        predecessors.record_index as predecessor_index
    from claims
    inner join records as predecessors
        on claims.store_id = predecessors.store_id and claims.predecessor_id = predecessors.record_id
    where
        (claims.applies_to is not null or claims.does_not_apply_to is not null)
        and {{ governed_memory.is_narrower('claims', 'predecessors') }}
),

edges as (
    select
        claims.store_id,
        claims.record_index as successor_index,
        predecessors.record_index as predecessor_index,
        claims.record_id as successor_id,
        claims.predecessor_id,
        claims.valid_from as successor_valid_from,
        predecessors.valid_from as predecessor_valid_from,
        claims.known_at as successor_known_at,
        predecessors.known_at as predecessor_known_at,
        claims.is_withdrawal as is_successor_withdrawal,
        predecessors.is_withdrawal as is_predecessor_withdrawal,
        claims.applies_to as successor_applies_to,
        claims.does_not_apply_to as successor_does_not_apply_to,
        narrower.predecessor_index is not null as is_narrower
    from claims
    left join records as predecessors
        on claims.store_id = predecessors.store_id and claims.predecessor_id = predecessors.record_id
    left join narrower
        on claims.store_id = narrower.store_id and claims.record_index = narrower.record_index
        and claims.predecessor_id = narrower.predecessor_id and predecessors.record_index = narrower.predecessor_index
)

select * from edges
