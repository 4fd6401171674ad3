{#- A frame counts as replayed where every step was (M6). -#}
select
    steps.frame_id,
    steps.position,
    steps.cell_id
from {{ governed_memory.relation('frame_steps') }} as steps
inner join {{ governed_memory.relation('frame_states') }} as states on steps.frame_id = states.frame_id
left join {{ governed_memory.relation('links') }} as links
    on steps.frame_id = links.from_cell_id and steps.cell_id = links.to_cell_id and links.link_type = 'replay'
where states.state = 'complete' and links.link_id is null
