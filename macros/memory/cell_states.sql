{#- What became of each cell by an instant: `clock` is SQL for it (UTC). Nothing in a cell changes; each state is derived from what was added (M1).
    A working cell is expired from the end of its time to live on, or from an `expire` event if that came first. -#}
{% macro cell_states(clock) -%}
with

said as (
    select
        target_id as cell_id,
        min(effective_at) filter (where kind = 'expire') as expired_at,
        arg_max(kind, (effective_at, recorded_at, annotation_id)) filter (where kind in ('doubt', 'trust')) as trust,
        max(effective_at) filter (where kind = 'trust') as trusted_at,
        arg_max(half_life_seconds, (effective_at, recorded_at, annotation_id)) filter (where kind = 'decay') as half_life_seconds,
        max(effective_at) filter (where kind = 'decay') as decays_from,
        max(recorded_at) as annotated_at
    from {{ governed_memory.relation('annotations') }}
    where effective_at <= {{ clock }}
    group by target_id
),

derived_from as (
    select distinct unnest(source_ids) as cell_id
    from {{ governed_memory.relation('cells') }}
    where approval_id is not null
),

-- What leads back to what was revoked is in doubt until somebody says otherwise
revoked as (
    select
        cell_id,
        max(revoked_at) as revoked_at
    from {{ governed_memory.relation('int_revoked_lineage') }}
    where revoked_at <= {{ clock }}
    group by cell_id
),

facts as (
    select
        cells.cell_id,
        cells.system,
        cells.principal,
        cells.session_id,
        cells.created_at,
        greatest(cells.created_at, said.annotated_at) as updated_at,
        least(cells.expires_at, said.expired_at) as expires_at,
        coalesce(least(cells.expires_at, said.expired_at) <= {{ clock }}, false) as is_expired,
        coalesce(said.trust = 'doubt', false) or coalesce(revoked.revoked_at >= coalesce(said.trusted_at, revoked.revoked_at), false) as is_in_doubt,
        derived_from.cell_id is not null as is_consolidated,
        coalesce(
            pow(0.5, date_diff('microsecond', said.decays_from, {{ clock }}) / 1e6 / said.half_life_seconds), 1.0
        ) as strength
    from {{ governed_memory.relation('cells') }} as cells
    left join said using (cell_id)
    left join derived_from using (cell_id)
    left join revoked using (cell_id)
)

select
    *,
    strength < 0.5 as is_decayed,
    case
        when is_expired then 'expired'
        when is_in_doubt then 'in_doubt'
        when is_consolidated then 'consolidated'
        when strength < 0.5 then 'decayed'
        else 'active'
    end as state
from facts
{%- endmacro %}
