{#- A withdrawal often names no concept, and a successor may be about another one: both belong to the history of what they supersede.
    What a restricted record says is left out, and what a withdrawal of one says of it. -#}
with

-- scanned anew each time it is named, so that the history of one concept reads no more than that
intervals as not materialized (select * from {{ governed_memory.relation('record_intervals_built') }}),

records as (select * from {{ governed_memory.relation('records') }}),

edges as not materialized (
    select * from {{ governed_memory.relation('int_supersession_edges') }}
    where predecessor_index is not null
),

predecessors as not materialized (
    select
        edges.store_id,
        edges.successor_index,
        edges.is_successor_withdrawal,
        intervals.concept_id,
        intervals.is_restricted
    from edges
    inner join intervals
        on edges.store_id = intervals.store_id and edges.predecessor_index = intervals.record_index
),

parts as (
    select store_id, concept_id, record_index from intervals
    where concept_id is not null
    union
    select store_id, concept_id, successor_index as record_index from predecessors
    where concept_id is not null
),

withdrawals_of_restricted as (
    select distinct store_id, successor_index
    from predecessors
    where is_restricted and is_successor_withdrawal
),

concept_histories as (
    select
        parts.store_id,
        parts.concept_id,
        intervals.record_id,
        intervals.record_index,
        intervals.concept_id as record_concept_id,
        case when not intervals.is_restricted then intervals.value end as open_value,
        intervals.is_restricted,
        intervals.interval_status,
        intervals.in_force_from,
        intervals.in_force_to,
        intervals.valid_from,
        intervals.valid_to,
        intervals.end_reason,
        intervals.ended_by,
        intervals.is_partly_ended,
        intervals.partly_ended_scopes,
        case when intervals.interval_status = 'validity_unknown' then case
            when records.valid_from_problem is not null then 'valid_from_invalid'
            when records.valid_from is null then 'valid_from_missing'
            when records.valid_to_problem = 'not_a_date' then 'valid_to_invalid'
            else 'valid_to_unstated'
        end end as validity_problem,
        intervals.supersedes,
        intervals.ineffective_supersessions,
        records.is_withdrawal,
        case
            when not intervals.is_restricted and withdrawals_of_restricted.successor_index is null then intervals.withdrawal
        end as open_withdrawal,
        intervals.source_id,
        intervals.concept_owner,
        intervals.owner_role,
        intervals.applies_to,
        intervals.does_not_apply_to,
        intervals.recorded_at,
        records.known_at
    from parts
    inner join intervals
        on parts.store_id = intervals.store_id and parts.record_index = intervals.record_index
    inner join records
        on parts.store_id = records.store_id and parts.record_index = records.record_index
    left join withdrawals_of_restricted
        on parts.store_id = withdrawals_of_restricted.store_id and parts.record_index = withdrawals_of_restricted.successor_index
)

select * from concept_histories
