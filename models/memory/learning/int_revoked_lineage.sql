with recursive

-- Each cell once under each revoked one, however many ways lead there; what names itself in the end ends the walk too
derived as (
    select
        cells.cell_id,
        named.source_id
    from {{ governed_memory.relation('cells') }} as cells
    cross join unnest(cells.source_ids) as named (source_id)
),

walked as (
    select
        cell_id as revoked_cell_id,
        cell_id,
        recorded_at as revoked_at
    from {{ governed_memory.relation('approvals') }}
    where verdict = 'revoke'
    union
    select
        walked.revoked_cell_id,
        derived.cell_id,
        walked.revoked_at
    from walked
    inner join derived on walked.cell_id = derived.source_id
)

select
    revoked_cell_id,
    cell_id,
    revoked_at
from walked
