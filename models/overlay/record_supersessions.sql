with

edges as (select * from {{ governed_memory.relation('int_supersession_edges') }}),

ineffective as (select * from {{ governed_memory.relation('int_ineffective_supersessions') }}),

record_supersessions as (
    select
        edges.*,
        ineffective.ineffective_reason
    from edges
    left join ineffective
        on edges.store_id = ineffective.store_id and edges.successor_index = ineffective.successor_index
        and edges.predecessor_id = ineffective.predecessor_id
        and edges.predecessor_index is not distinct from ineffective.predecessor_index
)

select * from record_supersessions
