{#- One cell with what became of it, its links and what was said of it, if the reader may read it. Of a link whose other end they may not read,
    or that was told in another session, nothing is told (G7). -#}
{% macro shown_cell(cell_id, clock, reader) -%}
with

states as ({{ governed_memory.cell_states(clock) }}),

mine as (
    select cells.*
    from {{ governed_memory.relation('cells') }} as cells
    where cells.cell_id = {{ cell_id }} and {{ governed_memory.readable('cells', reader) }}
),

neighbours as (
    select
        mine.cell_id,
        list({
            'link_id': links.link_id, 'link_type': links.link_type, 'from_cell_id': links.from_cell_id, 'to_cell_id': links.to_cell_id,
            'weight': links.weight, 'reason': links.reason
        } order by links.link_id) as links
    from mine
    inner join {{ governed_memory.relation('links') }} as links on mine.cell_id in (links.from_cell_id, links.to_cell_id)
    inner join {{ governed_memory.relation('cells') }} as cells
        on cells.cell_id = case when links.from_cell_id = mine.cell_id then links.to_cell_id else links.from_cell_id end
    where {{ governed_memory.readable('cells', reader) }} and {{ governed_memory.of_session('links', reader) }}
    group by mine.cell_id
),

said as (
    select
        mine.cell_id,
        list({'kind': notes.kind, 'reason': notes.reason, 'by': notes.principal, 'effective_at': notes.effective_at} order by notes.effective_at, notes.annotation_id)
            as annotations
    from mine
    inner join {{ governed_memory.relation('annotations') }} as notes on mine.cell_id = notes.target_id
    group by mine.cell_id
)

select
    mine.* exclude (cell_number, terms, writer, seq),
    states.state,
    states.strength,
    coalesce(neighbours.links, []) as links,
    coalesce(said.annotations, []) as annotations
from mine
inner join states using (cell_id)
left join neighbours using (cell_id)
left join said using (cell_id)
{%- endmacro %}
