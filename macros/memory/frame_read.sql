{#- A frame as a reader may see it (M5, M14), with its steps and the cells that they lead back to; no row where that is no frame of theirs. Whoever
    bound it may, in its session or across sessions; others only across sessions, and only where they may read the cell of every step. -#}
{% macro frame_read(frame_id, reader) -%}
with

read_frame as (
    select
        frames.* exclude (steps, writer, seq, transition),
        states.* exclude (frame_id, steps),
        frames.principal = {{ reader.principal }} and ({{ reader.is_global }} or frames.session_id = {{ reader.session_id }}) as is_own
    from {{ governed_memory.relation('frames') }} as frames
    inner join {{ governed_memory.relation('frame_states') }} as states using (frame_id)
    where frames.frame_id = {{ frame_id }} and ({{ reader.on_date }} is null or frames.recorded_at < {{ reader.on_date }} + 1)
),

read_steps as (
    select
        steps.position,
        steps.cell_id,
        cells.system,
        cells.source,
        cells.content,
        coalesce({{ governed_memory.readable('cells', reader) }}, false) as is_readable,
        exists (
            select 1
            from {{ governed_memory.relation('links') }} as links
            where links.link_type = 'replay' and links.from_cell_id = steps.frame_id and links.to_cell_id = steps.cell_id
        ) as has_replay_link
    from {{ governed_memory.relation('frame_steps') }} as steps
    left join {{ governed_memory.relation('cells') }} as cells using (cell_id)
    where steps.frame_id = {{ frame_id }}
),

read_lineage as (
    select
        lineage.position,
        lineage.named_by,
        lineage.cell_id,
        cells.system,
        cells.source,
        lineage.is_origin
    from {{ governed_memory.relation('frame_lineage') }} as lineage
    inner join {{ governed_memory.relation('cells') }} as cells using (cell_id)
    where lineage.frame_id = {{ frame_id }} and {{ governed_memory.readable('cells', reader) }}
)

select
    read_frame.* exclude (is_own),
    (
        select list({
            'position': position, 'cell_id': cell_id, 'system': system, 'source': source, 'content': content, 'has_replay_link': has_replay_link
        } order by position)
        from read_steps
    ) as steps,
    (
        select list({
            'position': position, 'named_by': named_by, 'cell_id': cell_id, 'system': system, 'source': source, 'is_origin': is_origin
        } order by position, named_by nulls first, cell_id)
        from read_lineage
    ) as lineage
from read_frame
where is_own or (select min(is_readable) from read_steps)
{%- endmacro %}
