{#- Owners are taken from the register where it names the concept, else from what the records in force claim. Each owner's days are merged
    into stretches first; a stretch that begins while another owner's runs is one too many. -#}
with

intervals as (
    select * from {{ governed_memory.relation('int_record_periods') }}
    where interval_status = 'in_force' and concept_id is not null and concept_owner is not null
),

register as (select * from {{ governed_memory.relation('concept_ownerships') }} where party_id is not null),

disputed as (
    select store_id, concept_id
    from intervals
    anti join register
        on intervals.concept_id = register.concept_id and intervals.store_id = coalesce(register.store_id, intervals.store_id)
    group by all
    having min(concept_owner) <> max(concept_owner)
),

claims as (
    select
        intervals.store_id,
        intervals.concept_id,
        intervals.concept_owner,
        intervals.record_index,
        intervals.record_id,
        intervals.in_force_from as starts_on,
        coalesce(intervals.in_force_to, date '9999-12-31') as ends_on
    from intervals
    semi join disputed
        on intervals.store_id = disputed.store_id and intervals.concept_id = disputed.concept_id
),

extended as (
    select
        *,
        max(ends_on) over (
            partition by store_id, concept_id, concept_owner order by starts_on, record_index rows between unbounded preceding and 1 preceding
        ) as same_owner_until
    from claims
),

stretches as (
    select
        *,
        sum(cast(coalesce(same_owner_until < starts_on, true) as integer)) over (
            partition by store_id, concept_id, concept_owner order by starts_on, record_index
        ) as stretch_number
    from extended
),

owner_stretches as (
    select store_id, concept_id, concept_owner, stretch_number, arg_min(record_index, (starts_on, record_index)) as record_index,
        arg_min(record_id, (starts_on, record_index)) as record_id, min(starts_on) as starts_on, max(ends_on) as ends_on
    from stretches
    group by all
),

overlapping as (
    select
        *,
        max(ends_on) over (question rows between unbounded preceding and 1 preceding) >= starts_on
        or min(starts_on) over (question rows between 1 following and unbounded following) <= ends_on as is_overlapping
    from owner_stretches
    window question as (partition by store_id, concept_id order by starts_on, concept_owner, stretch_number)
),

doubly_registered as (
    select store_id, concept_id
    from register
    group by store_id, concept_id, coalesce(valid_from, date '0001-01-01')
    having count(distinct party_id) > 1
),

violations as (
    select store_id, record_index, {{ governed_memory.offender() }} as record_id, concept_id, 'concept_owner' as field,
        'concept_owner_ambiguous' as rule_id, 'two owners in force on one day' as detail
    from overlapping
    where is_overlapping
    union all
    select distinct coalesce(doubly_registered.store_id, stores.store_id), null::bigint, null::varchar, doubly_registered.concept_id, 'concept_owner',
        'concept_owner_ambiguous', 'the register gives concept ' || doubly_registered.concept_id || ' two owners from one day'
    from doubly_registered
    inner join {{ governed_memory.relation('stores') }} as stores
        on stores.store_id = coalesce(doubly_registered.store_id, stores.store_id)
)

select * from violations
