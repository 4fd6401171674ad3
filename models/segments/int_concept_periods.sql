{{ config(materialized='table') }}
{#- One row per period, so that a join on concept and date finds at most one row: a record only where it is the only one in force. -#}
{%- set keys = ['store_id', 'concept_id', 'is_scoped'] -%}
with

records as (select * from {{ governed_memory.relation('records') }}),

intervals as (
    select store_id, concept_id, false as is_scoped, null::varchar as question_class_id, record_index, in_force_from, in_force_to
    from {{ governed_memory.relation('record_intervals_built') }}
    where interval_status = 'in_force' and concept_id is not null
    union all
    select store_id, concept_id, true as is_scoped, question_class_id, record_index, in_force_from, in_force_to
    from {{ governed_memory.relation('int_scoped_intervals') }}
),

{{ governed_memory.periods('intervals', keys) }},

in_force as (
    select
        members.store_id,
        members.concept_id,
        members.is_scoped,
        members.question_class_id,
        members.period_number,
        count(*) as record_count,
        min(members.record_index) as record_index,
        -- a record without an identifier is named by its place, as findings name it
        list(coalesce(records.record_id, '#' || (records.record_index - 1))) as record_ids,
        list(coalesce(records.record_id, '#' || (records.record_index - 1))) filter (where not records.is_restricted) as open_record_ids
    from members
    inner join records
        on members.store_id = records.store_id and members.record_index = records.record_index
    group by all
),

concept_periods as (
    select
        periods.store_id,
        periods.concept_id,
        periods.is_scoped,
        periods.question_class_id,
        periods.starts_on,
        periods.ends_on,
        case when in_force.record_count = 1 then 'in_force' when in_force.record_count > 1 then 'several_in_force' else 'no_record' end as status,
        coalesce(in_force.record_count, 0) as record_count,
        case when in_force.record_count > 1 then list_sort(in_force.record_ids) end as record_ids,
        case when in_force.record_count > 1 then list_sort(coalesce(in_force.open_record_ids, [])) end as open_record_ids,
        records.record_id,
        records.value,
        records.source_id,
        records.concept_owner,
        records.valid_from,
        records.is_restricted,
        count(*) over (partition by periods.store_id, periods.concept_id, periods.is_scoped, periods.question_class_id) > 32 as has_many_periods
    from periods
    left join in_force
        on {{ governed_memory.is_same_question('periods', 'in_force', keys) }} and periods.period_number = in_force.period_number
    left join records
        on in_force.record_count = 1 and in_force.store_id = records.store_id and in_force.record_index = records.record_index
),

-- a class that the concept names never falls back to the answer without a class (G2), even where nothing is ever in force for it
never_answered as (
    select
        scopes.store_id,
        scopes.concept_id,
        true as is_scoped,
        scopes.question_class_id,
        'no_record' as status,
        0 as record_count,
        false as has_many_periods
    from {{ governed_memory.relation('int_concept_scopes') }} as scopes
    anti join periods
        on {{ governed_memory.is_same_question('scopes', 'periods') }} and periods.is_scoped
)

select * from concept_periods  -- noqa: AM07
union all by name
select * from never_answered
