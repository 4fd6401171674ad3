{#- The groups that cells belong to which enter a packet together or not at all (M9): those joined by conflict links among cells live at an instant,
    however far. One row per group; `members` has them by cell_id, and is null where one of them may not be read or is reached through its record
    only: of such a group nothing is told but that there is one. A cell that is not live is a group of its own.

    ids is a relation of cell_id, cells that the reader may read; clock an instant, reader as `readable` takes it. -#}
{% macro conflict_groups(ids, clock, reader) -%}
with recursive

found as ({{ ids }}),

conflicts as (
    select from_cell_id as cell_id, to_cell_id as other_id from {{ governed_memory.relation('links') }} where link_type = 'conflict'
    union
    select to_cell_id as cell_id, from_cell_id as other_id from {{ governed_memory.relation('links') }} where link_type = 'conflict'
),

lives as (
    select
        cells.cell_id,
        coalesce(least(cells.expires_at, expiries.expired_at) > {{ clock }}, true)
        and ({{ reader.on_date }} is null or cells.recorded_at < {{ reader.on_date }} + 1) as is_live
    from {{ governed_memory.relation('cells') }} as cells
    left join {{ governed_memory.relation('int_expiries') }} as expiries on cells.cell_id = expiries.cell_id
    where cells.cell_id in (select cell_id from found union all select cell_id from conflicts)
),

reached as (
    select found.cell_id as found_id, found.cell_id, lives.is_live
    from found
    inner join lives on found.cell_id = lives.cell_id
    union
    select reached.found_id, conflicts.other_id as cell_id, true as is_live
    from reached
    inner join conflicts on reached.cell_id = conflicts.cell_id
    inner join lives on conflicts.other_id = lives.cell_id and lives.is_live
    where reached.is_live
),

grouped as (
    select distinct
        min(cell_id) over (partition by found_id) as group_id,
        cell_id,
        is_live
    from reached
),

members as (
    select
        grouped.group_id,
        bool_and(grouped.is_live) as is_live,
        bool_and({{ governed_memory.readable('cells', reader) }} and not {{ governed_memory.has_record('cells') }}) as is_whole,
        list({
            'cell_id': cells.cell_id, 'system': cells.system, 'content': cells.content, 'summary': cells.summary, 'source': cells.source,
            'source_ids': cells.source_ids, 'recorded_at': cells.recorded_at, 'expires_at': cells.expires_at
        } order by cells.cell_id) as members
    from grouped
    inner join {{ governed_memory.relation('cells') }} as cells on grouped.cell_id = cells.cell_id
    group by grouped.group_id
)

select
    is_live,
    case when is_whole then members end as members
from members
order by group_id
{%- endmacro %}
