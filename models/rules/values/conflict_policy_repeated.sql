{#- A policy that another supersedes or that has ended makes room for the next; two on one day do not. Policies of unknown validity count as always. -#}
with

records as (
    select *
    from {{ governed_memory.relation('records') }}
    where conflict_policy is not null and not is_withdrawal
),

intervals as (select * from {{ governed_memory.relation('int_record_periods') }}),

statements as (
    select
        records.store_id,
        records.record_index,
        records.record_id,
        records.concept_id,
        coalesce(intervals.in_force_from, date '0001-01-01') as starts_on,
        case when intervals.interval_status = 'in_force' then coalesce(intervals.in_force_to, date '9999-12-31') else date '9999-12-31' end as ends_on
    from records
    inner join intervals
        on records.store_id = intervals.store_id and records.record_index = intervals.record_index
    where intervals.interval_status <> 'never_in_force'
),

neighbours as (
    select
        *,
        max(ends_on) over (earlier rows between unbounded preceding and 1 preceding) as latest_end_before,
        min(starts_on) over (earlier rows between 1 following and unbounded following) as next_start
    from statements
    window earlier as (partition by store_id order by starts_on, record_index)
),

violations as (
    select
        store_id,
        record_index,
        {{ governed_memory.offender() }} as record_id,
        concept_id,
        'conflict_policy' as field,
        'conflict_policy_repeated' as rule_id,
        null::varchar as detail
    from neighbours
    where latest_end_before >= starts_on or next_start <= ends_on
)

select * from violations
