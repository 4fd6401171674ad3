-- M2: what conflicts is joined by a link and stays
select links.link_id
from {{ ref('links') }} as links
left join {{ ref('cells') }} as ones on links.from_cell_id = ones.cell_id
left join {{ ref('cells') }} as others on links.to_cell_id = others.cell_id
where links.link_type = 'conflict' and (ones.content is null or others.content is null)
