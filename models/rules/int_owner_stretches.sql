{#- Only concepts that the register does not name and for which records claim several owners. Each owner's days are merged into stretches. -#}
with

records as (
    select *
    from {{ governed_memory.relation('records') }}
    where concept_owner is not null and concept_id is not null
),

periods as (select * from {{ governed_memory.relation('int_record_periods') }}),

register as (
    select *
    from {{ governed_memory.relation('concept_ownerships') }}
    where party_id is not null
),

disputed as (
    select
        records.store_id,
        records.concept_id
    from records
    anti join register
        on records.concept_id = register.concept_id and records.store_id = coalesce(register.store_id, records.store_id)
    group by all
    having min(records.concept_owner) <> max(records.concept_owner)
),

claims as (
    select
        records.store_id,
        records.concept_id,
        records.concept_owner,
        records.record_index,
        records.record_id,
        periods.in_force_from as starts_on,
        coalesce(periods.in_force_to, date '9999-12-31') as ends_on
    from records
    semi join disputed
        on records.store_id = disputed.store_id and records.concept_id = disputed.concept_id
    inner join periods
        on records.store_id = periods.store_id and records.record_index = periods.record_index
    where periods.interval_status = 'in_force'
),

extended as (
    select
        *,
        max(ends_on) over (
            partition by store_id, concept_id, concept_owner
            order by starts_on, record_index
            rows between unbounded preceding and 1 preceding
        ) as same_owner_until
    from claims
),

numbered as (
    select
        *,
        sum(cast(coalesce(same_owner_until < starts_on, true) as integer)) over (
            partition by store_id, concept_id, concept_owner order by starts_on, record_index
        ) as stretch_number
    from extended
),

owner_stretches as (
    select
        store_id,
        concept_id,
        concept_owner,
        stretch_number,
        arg_min(record_index, (starts_on, record_index)) as record_index,
        arg_min(record_id, (starts_on, record_index)) as record_id,
        min(starts_on) as starts_on,
        max(ends_on) as ends_on
    from numbered
    group by all
)

select * from owner_stretches
