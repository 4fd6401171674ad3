{#- Every supersession with the first reason why it has no effect, or none (T5). With known_on: as the rows known by then say (T6). -#}
{% macro supersession_reasons(known_on=none) -%}
with recursive

all_edges as (select * from {{ governed_memory.relation('int_supersession_edges') }}),

stores as (select * from {{ governed_memory.relation('stores') }}),

loops as (select * from {{ governed_memory.relation('int_looping_edges') }}),

known_edges as (
    select *
    from all_edges
    {% if known_on %}
    where {{ governed_memory.is_known('successor_known_at', known_on) }}
        and (predecessor_index is null or {{ governed_memory.is_known('predecessor_known_at', known_on) }})
    {% endif %}
),

clashing as ({{ governed_memory.clashing_rows(known_on) }}),

owners as ({{ governed_memory.owners_when_written('known_edges', known_on) }}),

judged as (
    select
        known_edges.*,
        case
            when known_edges.predecessor_index is null then 'points_at_nothing'
            when known_edges.successor_id = known_edges.predecessor_id then 'points_at_itself'
            when known_edges.is_predecessor_withdrawal then 'points_at_withdrawal'
            when clashing_successors.record_index is not null or clashing_predecessors.record_index is not null then 'duplicate_record_id'
            when stores.attests_writers and not coalesce(owners.party_id = known_edges.successor_written_by, false) then 'unauthorized_supersession'
            when known_edges.successor_valid_from is null then 'successor_without_start'
        end as reason
    from known_edges
    inner join stores on known_edges.store_id = stores.store_id
    left join clashing as clashing_successors
        on known_edges.store_id = clashing_successors.store_id and known_edges.successor_index = clashing_successors.record_index
    left join clashing as clashing_predecessors
        on known_edges.store_id = clashing_predecessors.store_id and known_edges.predecessor_index = clashing_predecessors.record_index
    left join owners
        on known_edges.store_id = owners.store_id and known_edges.successor_index = owners.successor_index
        and known_edges.predecessor_index = owners.predecessor_index
),

withdrawn as (
    select distinct store_id, predecessor_index as record_index
    from judged
    where reason is null
        and is_successor_withdrawal
        and coalesce(len(successor_applies_to), 0) + coalesce(len(successor_does_not_apply_to), 0) = 0
        and successor_valid_from <= predecessor_valid_from
),

standing as (
    select
        judged.* exclude (reason),
        case when judged.reason is null and withdrawn.record_index is not null then 'successor_withdrawn' else judged.reason end as reason
    from judged
    left join withdrawn
        on judged.store_id = withdrawn.store_id and judged.successor_index = withdrawn.record_index
),

looping as (
    select standing.*
    from standing
    inner join loops
        on standing.store_id = loops.store_id and standing.successor_index = loops.successor_index
        and standing.predecessor_index = loops.predecessor_index
    where standing.reason is null and not loops.is_undecided
),

{{ governed_memory.cycle_edges('looping') }},

reasons as (
    select
        standing.* exclude (reason),
        case
            when standing.reason is not null then standing.reason
            when loops.is_undecided or cycle_edges.is_undecided then 'cycle_undecided'
            when cycle_edges.successor_index is not null then 'supersession_cycle'
        end as ineffective_reason
    from standing
    left join loops
        on standing.store_id = loops.store_id and standing.successor_index = loops.successor_index
        and standing.predecessor_index = loops.predecessor_index and loops.is_undecided
    left join cycle_edges
        on standing.store_id = cycle_edges.store_id and standing.successor_index = cycle_edges.successor_index
        and standing.predecessor_index = cycle_edges.predecessor_index
)

select * from reasons
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

{#- For each edge of an attesting store, who owned the predecessor's concept when the successor was written (T8): the register's latest
    entry by then; with no date of writing, a sole entry that has no start. -#}
{% macro owners_when_written(edges, known_on=none) -%}
    select
        edges.store_id,
        edges.successor_index,
        edges.predecessor_index,
        {{ governed_memory.latest_owner('register', 'coalesce(register.valid_from <= edges.successor_written_on, register.valid_from is null)') }} as party_id
    from {{ edges }} as edges
    inner join {{ governed_memory.relation('stores') }} as stores
        on edges.store_id = stores.store_id and stores.attests_writers
    inner join {{ governed_memory.relation('concept_ownerships') }} as register
        on edges.predecessor_concept_id = register.concept_id and edges.store_id = coalesce(register.store_id, edges.store_id)
    {% if known_on %} where register.recorded_at is null or {{ governed_memory.is_known('register.recorded_at', known_on) }} {% endif %}
    group by all
    having max(edges.successor_written_on) is not null or count(*) = 1
{%- endmacro %}

{#- The owner that the register's last entry names, of those that meet a condition: the latest to begin, then the latest recorded. An entry
    without a party says that nobody owns the concept from then on. -#}
{% macro latest_owner(register, condition='true') -%}
    nullif(
        arg_max(
            coalesce({{ register }}.party_id, ''),
            (coalesce({{ register }}.valid_from, date '0001-01-01'), coalesce({{ register }}.recorded_at, timestamp '0001-01-01'))
        ) filter (where {{ condition }}),
        ''
    )
{%- endmacro %}
