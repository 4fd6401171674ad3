-- Whose what was learned is: a schema is its concept's owner's; a skill is the party's that approved one of that name first
select
    schemas.cell_id,
    'schema' as kind,
    owners.party_id
from {{ governed_memory.relation('learned_schemas') }} as schemas
inner join {{ governed_memory.relation('memory_ownerships') }} as owners on schemas.concept = owners.concept_id
union all
select
    cell_id,
    'skill' as kind,
    first_value(party) over (partition by skill order by approved_at, approval_id) as party_id
from {{ governed_memory.relation('learned_skills') }}
