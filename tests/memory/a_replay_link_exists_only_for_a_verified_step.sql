{#- A replay writes its links together with what it verified, and stops at the first step that fails (M6). -#}
select
    links.link_id,
    links.from_cell_id,
    links.to_cell_id
from {{ governed_memory.relation('links') }} as links
left join {{ governed_memory.relation('frame_steps') }} as steps on links.from_cell_id = steps.frame_id and links.to_cell_id = steps.cell_id
left join {{ governed_memory.relation('replays') }} as replays on steps.frame_id = replays.frame_id and steps.position <= replays.verified_steps
where links.link_type = 'replay' and replays.replay_id is null
