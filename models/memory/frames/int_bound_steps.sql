-- What the steps of a frame are bound as: each with the cell's fingerprint as held, in the order of the source unless the frame states positions
with

{{ governed_memory.told_steps() }},

steps as (
    select
        place,
        step ->> '$.cell_id' as cell_id,
        try_cast(step ->> '$.position' as bigint) as stated_position,
        is_malformed or has_unknown_field as is_no_step
    from told_steps
),

with_cells as (
    select
        steps.place,
        steps.cell_id,
        steps.stated_position,
        steps.is_no_step,
        held.fingerprint as cell_fingerprint,
        {{ governed_memory.source_sequence('held', 'held_id') }} as source_sequence
    from steps
    left join {{ governed_memory.relation('int_held') }} as held on steps.cell_id = held.held_id and held.stream = 'cells'
)

select
    place,
    row_number() over (partition by place order by stated_position, source_sequence) as position,
    cell_id,
    cell_fingerprint,
    case when stated_position is null then 'source' else 'stated' end as order_from,
    -- What cannot be bound stays as it was told, and the guards say why
    min(not is_no_step and cell_fingerprint is not null) over (partition by place)
    and (
        count(stated_position) over (partition by place) = 0
        or count(distinct stated_position) over (partition by place) = count(*) over (partition by place)
    ) as is_bindable
from with_cells
