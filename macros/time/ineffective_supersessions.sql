{#- The supersessions without effect, each with the first reason why (T5). With known_on: as the rows known by then say (T6). `edges` names
    a clause of some of the edges, which must hold every other edge onto what theirs join. -#}
{% macro ineffective_supersessions(known_on=none, edges=none) -%}
with recursive

all_edges as (select * from {{ edges or governed_memory.relation('int_supersession_edges') }}),

loops as (select * from {{ governed_memory.relation('int_looping_edges') }}),

known_edges as (
    {% if known_on %}
    -- a predecessor that is not known yet is nothing to point at
    select * replace (case when {{ governed_memory.is_known('predecessor_known_at', known_on) }} then predecessor_index end as predecessor_index)
    from all_edges
    where {{ governed_memory.is_known('successor_known_at', known_on) }}
    qualify
        coalesce({{ governed_memory.is_known('predecessor_known_at', known_on) }}, false)
        or row_number() over (
            partition by store_id, successor_index, predecessor_id
            order by coalesce({{ governed_memory.is_known('predecessor_known_at', known_on) }}, false) desc
        ) = 1
    {% else %}
    select * from all_edges
    {% endif %}
),

clashing as ({{ governed_memory.clashing_rows(known_on) }}),

unauthorized as ({{ governed_memory.unauthorized_edges('known_edges', known_on) }}),

-- the tests in their order; each looks at few edges, so the many that pass are never written down
failed_tests as (
    select
        store_id,
        successor_index,
        predecessor_id,
        predecessor_index,
        case
            when predecessor_index is null then 1
            when successor_id = predecessor_id then 2
            when is_predecessor_withdrawal then 3
            else 6
        end as test
    from known_edges
    where predecessor_index is null or successor_id = predecessor_id or is_predecessor_withdrawal or successor_valid_from is null
    union all
    select known_edges.store_id, known_edges.successor_index, known_edges.predecessor_id, known_edges.predecessor_index, 4 as test
    from known_edges
    semi join clashing
        on known_edges.store_id = clashing.store_id and known_edges.successor_index = clashing.record_index
    union all
    select known_edges.store_id, known_edges.successor_index, known_edges.predecessor_id, known_edges.predecessor_index, 4 as test
    from known_edges
    semi join clashing
        on known_edges.store_id = clashing.store_id and known_edges.predecessor_index = clashing.record_index
    union all
    select store_id, successor_index, predecessor_id, predecessor_index, 5 as test
    from unauthorized
),

failed as (
    select store_id, successor_index, predecessor_id, predecessor_index, min(test) as test
    from failed_tests
    group by all
),

withdrawals as (
    select known_edges.*
    from known_edges
    anti join failed
        on known_edges.store_id = failed.store_id and known_edges.successor_index = failed.successor_index
        and known_edges.predecessor_index = failed.predecessor_index
    where known_edges.is_successor_withdrawal
        and coalesce(len(known_edges.successor_applies_to), 0) + coalesce(len(known_edges.successor_does_not_apply_to), 0) = 0
        and known_edges.successor_valid_from <= known_edges.predecessor_valid_from
),

withdrawn as (
    select known_edges.store_id, known_edges.successor_index, known_edges.predecessor_id, known_edges.predecessor_index, 7 as test
    from known_edges
    semi join withdrawals
        on known_edges.store_id = withdrawals.store_id and known_edges.successor_index = withdrawals.predecessor_index
    anti join failed
        on known_edges.store_id = failed.store_id and known_edges.successor_index = failed.successor_index
        and known_edges.predecessor_id = failed.predecessor_id and known_edges.predecessor_index is not distinct from failed.predecessor_index
),

standing_loops as (
    select known_edges.*, loops.is_undecided
    from known_edges
    inner join loops
        on known_edges.store_id = loops.store_id and known_edges.successor_index = loops.successor_index
        and known_edges.predecessor_index = loops.predecessor_index
    anti join failed
        on known_edges.store_id = failed.store_id and known_edges.successor_index = failed.successor_index
        and known_edges.predecessor_index = failed.predecessor_index
    anti join withdrawn
        on known_edges.store_id = withdrawn.store_id and known_edges.successor_index = withdrawn.successor_index
        and known_edges.predecessor_index = withdrawn.predecessor_index
),

looping as (select * from standing_loops where not is_undecided),

{{ governed_memory.cycle_edges('looping') }},

on_cycles as (
    select standing_loops.store_id, standing_loops.successor_index, standing_loops.predecessor_id, standing_loops.predecessor_index,
        case when standing_loops.is_undecided or bool_or(cycle_edges.is_undecided) then 9 else 8 end as test
    from standing_loops
    left join cycle_edges
        on standing_loops.store_id = cycle_edges.store_id and standing_loops.successor_index = cycle_edges.successor_index
        and standing_loops.predecessor_index = cycle_edges.predecessor_index
    where standing_loops.is_undecided or cycle_edges.successor_index is not null
    group by standing_loops.store_id, standing_loops.successor_index, standing_loops.predecessor_id, standing_loops.predecessor_index,
        standing_loops.is_undecided
),

ineffective as (
    select * from failed
    union all
    select * from withdrawn
    union all
    select * from on_cycles
)

select
    store_id,
    successor_index,
    predecessor_id,
    predecessor_index,
    ([
        'points_at_nothing', 'points_at_itself', 'points_at_withdrawal', 'duplicate_record_id', 'unauthorized_supersession',
        'successor_without_start', 'successor_withdrawn', 'supersession_cycle', 'cycle_undecided'
    ])[test] as ineffective_reason
from ineffective
{%- endmacro %}

{#- Whether a row recorded at that time is seen by a read as known on a date or timestamp (UTC); a date means its end (T6). No known_on
    sees every row; a row that no one knows the recording of is seen only then. -#}
{% macro is_known(recorded_at, known_on) -%}
    ({{ known_on }} is null or {{ recorded_at }} <= case
        when length(cast({{ known_on }} as varchar)) <= 10 then cast(cast({{ known_on }} as date) as timestamp) + interval 1 day - interval 1 microsecond
        else cast({{ known_on }} as timestamp)
    end)
{%- endmacro %}

{#- Rows whose id another row has too, copies apart. -#}
{% macro clashing_rows(known_on=none) -%}
    select shared.store_id, shared.record_index
    from {{ governed_memory.relation('int_rows_sharing_id') }} as shared
    inner join {{ governed_memory.relation('records') }} as records
        on shared.store_id = records.store_id and shared.record_index = records.record_index
    where not shared.is_copy
    {% if known_on %} and {{ governed_memory.is_known('records.known_at', known_on) }} {% endif %}
    qualify count(*) over (partition by shared.store_id, shared.normal_id) > 1
{%- endmacro %}

{#- The edges of attesting stores whose successor was not written by whoever owned the predecessor's concept at the time (T8). -#}
{% macro unauthorized_edges(edges, known_on=none) -%}
    with

    attested_edges as (
        select
            edges.store_id,
            edges.successor_index,
            edges.predecessor_id,
            edges.predecessor_index,
            predecessors.concept_id,
            successors.written_by,
            successors.recorded_at,
            successors.valid_from
        from {{ edges }} as edges
        inner join {{ governed_memory.relation('stores') }} as stores
            on edges.store_id = stores.store_id and stores.attests_writers
        inner join {{ governed_memory.relation('records') }} as successors
            on edges.store_id = successors.store_id and edges.successor_index = successors.record_index
        inner join {{ governed_memory.relation('records') }} as predecessors
            on edges.store_id = predecessors.store_id and edges.predecessor_index = predecessors.record_index
    ),

    by_owners as ({{ governed_memory.written_by_owner('attested_edges', ['store_id', 'successor_index', 'predecessor_index'], known_on) }})

    select attested_edges.store_id, attested_edges.successor_index, attested_edges.predecessor_id, attested_edges.predecessor_index
    from attested_edges
    anti join by_owners
        on attested_edges.store_id = by_owners.store_id and attested_edges.successor_index = by_owners.successor_index
        and attested_edges.predecessor_index = by_owners.predecessor_index
{%- endmacro %}
