{#- Working cells whose time to live is over by an instant and of which no expire event tells yet. -#}
{% macro due_cells(clock) -%}
select
    cells.cell_id,
    cells.expires_at
from {{ governed_memory.relation('cells') }} as cells
left join {{ governed_memory.relation('int_expiries') }} as expiries using (cell_id)
where cells.expires_at <= {{ clock }} and expiries.cell_id is null
order by cells.cell_id
{%- endmacro %}
