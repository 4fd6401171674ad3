{#- Looks at the store and not at what a caller sees: a concept whose records are all withheld from somebody is held all the same (C31).
    Since when nothing is in force would tell the last day of a restricted record, so it is left out where one is. -#}
with

expected as (
    select
        stores.store_id,
        expected_concepts.concept_id
    from {{ governed_memory.relation('expected_concepts') }} as expected_concepts
    inner join {{ governed_memory.relation('stores') }} as stores
        on stores.store_id = coalesce(expected_concepts.store_id, stores.store_id)
),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

intervals as (
    select
        intervals.*,
        coalesce(intervals.in_force_from <= builds.on_date and coalesce(intervals.in_force_to >= builds.on_date, true), false) as is_in_force,
        coalesce(intervals.in_force_from > builds.on_date, false) as is_to_come
    from {{ governed_memory.relation('record_intervals_built') }} as intervals
    cross join builds
    semi join expected on intervals.store_id = expected.store_id and intervals.concept_id = expected.concept_id
    where intervals.interval_status <> 'withdrawal'
),

held as (
    select
        store_id,
        concept_id,
        bool_or(is_in_force) as is_in_force,
        -- what is in force says who owns it, else whatever there is
        coalesce(bool_or(concept_owner is not null) filter (where is_in_force), bool_or(concept_owner is not null)) as is_claimed,
        arg_max(record_id, (coalesce(in_force_from, valid_from, date '0001-01-01'), record_index)) filter (where not is_to_come) as last_record_id,
        case when not bool_or(is_restricted) then max(in_force_to) filter (where not is_to_come) + 1 end as lapsed_on
    from intervals
    group by all
),

gaps as (
    select
        store_id,
        concept_id,
        'missing' as gap,
        null::varchar as last_record_id,
        null::date as since_on
    from {{ governed_memory.relation('expected_concept_missing') }}
    union all
    select
        store_id,
        concept_id,
        'not_in_force' as gap,
        last_record_id,
        lapsed_on as since_on
    from held
    where not is_in_force
    union all
    select
        held.store_id,
        held.concept_id,
        'unowned' as gap,
        null::varchar as last_record_id,
        null::date as since_on
    from held
    left join {{ governed_memory.relation('int_registered_owners') }} as owners
        on held.store_id = owners.store_id and held.concept_id = owners.concept_id
    where owners.party_id is null and (owners.concept_id is not null or not held.is_claimed)
)

select * from gaps
