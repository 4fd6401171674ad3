{#- Why a reader may read cells, and what these are at an instant: one row for each of `ids` that they may read, with which of the branches of
    `readable` let it through, in words; no row for any other (G5, G7). -#}
{% macro why_readable(ids, clock, reader) -%}
with

states as ({{ governed_memory.cell_states(clock) }})

select
    cells.cell_id,
    cells.system,
    cells.source,
    cells.recorded_at,
    cells.principal as written_by,
    states.state,
    case
        when cells.session_id is null then 'of_no_session'
        when cells.session_id = {{ reader.session_id }} and cells.principal = {{ reader.principal }} then 'own_session'
        else 'across_sessions'
    end as session_code,
    case
        when {{ governed_memory.is_visible('cells.is_restricted', 'cells.release_to', reader.parties, reader.boundary) }}
            then case when {{ reader.boundary }} = 'inside' and not cells.is_restricted then 'open' else 'released' end
        else 'own'
    end as release_code,
    case release_code
        when 'released' then 'is released to a party of the reader'
        when 'own' then 'was written by the reader'
        else 'is open to all inside the boundary'
    end || case session_code
        when 'of_no_session' then '; belongs to no session'
        when 'own_session' then '; is of the reader''s session'
        else '; is of another session, and the read is across sessions'
    end as explanation
from {{ governed_memory.relation('cells') }} as cells
inner join states on cells.cell_id = states.cell_id
where cells.cell_id in ({{ ids }}) and {{ governed_memory.readable('cells', reader) }}
order by cells.cell_id
{%- endmacro %}
