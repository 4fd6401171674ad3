-- M7: neither side of opposite schemas is left without the other, and a decision says which policy handled it
select
    from_cell_id,
    to_cell_id
from {{ ref('int_unlinked_opposites') }}
union all
select
    links.from_cell_id,
    links.to_cell_id
from {{ ref('links') }} as links
left join {{ ref('decisions') }} as decisions on links.link_id = decisions.link_id
where links.link_type = 'conflict' and links.transition = 'consolidate' and decisions.decision_id is null
