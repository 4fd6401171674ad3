-- What somebody has to look at again: live cells in doubt, apart from what was revoked, which is settled
with

revoked as (
    select distinct cell_id
    from {{ governed_memory.relation('approvals') }}
    where verdict = 'revoke'
),

learned as (
    select cell_id, party, role, approved_at from {{ governed_memory.relation('learned_schemas') }}
    union all
    select cell_id, party, role, approved_at from {{ governed_memory.relation('learned_skills') }}
),

-- What leads back to something revoked, with the party that answers for that
lineage as (
    select
        lineage.cell_id,
        list(lineage.revoked_cell_id order by lineage.revoked_cell_id) as revoked_cell_ids,
        min(lineage.revoked_at) as revoked_at,
        arg_min(learned.party, (learned.approved_at, learned.cell_id)) as party,
        arg_min(learned.role, (learned.approved_at, learned.cell_id)) as role
    from {{ governed_memory.relation('int_revoked_lineage') }} as lineage
    left join learned on lineage.revoked_cell_id = learned.cell_id
    where lineage.cell_id <> lineage.revoked_cell_id
    group by lineage.cell_id
),

doubts as (
    select
        target_id as cell_id,
        min(effective_at) as doubted_at
    from {{ governed_memory.relation('annotations') }}
    where kind = 'doubt'
    group by target_id
)

select
    states.cell_id,
    states.system,
    coalesce(lineage.revoked_cell_ids, []) as revoked_cell_ids,
    coalesce(own.party, lineage.party) as party,
    coalesce(own.role, lineage.role) as role,
    own.cell_id is not null as is_learned,
    cast(least(lineage.revoked_at, doubts.doubted_at) as date) as since_on
from {{ governed_memory.relation('cell_states') }} as states
left join revoked on states.cell_id = revoked.cell_id
left join lineage on states.cell_id = lineage.cell_id
left join doubts on states.cell_id = doubts.cell_id
left join learned as own on states.cell_id = own.cell_id
where states.is_in_doubt and not states.is_expired and revoked.cell_id is null
