{#- One that fell with its successor's own withdrawal was taken back on purpose, and waits for nobody. -#}
with

ineffective as (
    select
        store_id,
        successor_index,
        predecessor_id,
        min(ineffective_reason) as ineffective_reason
    from {{ governed_memory.relation('int_ineffective_supersessions') }}
    where ineffective_reason <> 'successor_withdrawn'
    group by all
),

lost_supersessions as (
    select
        ineffective.*,
        {{ governed_memory.offender_of('successors') }} as record_id,
        successors.concept_id,
        successors.concept_owner as claimed_owner,
        successors.owner_role as claimed_role
    from ineffective
    inner join {{ governed_memory.relation('record_rows') }} as successors
        on ineffective.store_id = successors.store_id and ineffective.successor_index = successors.record_index
)

select * from lost_supersessions
