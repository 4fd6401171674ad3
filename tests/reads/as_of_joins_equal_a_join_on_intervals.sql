{#- A fact for every concept on every day on which anything about it changes, the day before and the day after: the join gives each fact
    once, with what its store holds in force that day (T3), found by comparing each with each. -#}
with

intervals as (
    select * from {{ governed_memory.relation('record_intervals_built') }}
    where interval_status = 'in_force' and concept_id is not null
    qualify count(*) over (partition by store_id, concept_id) <= 1000
),

facts as (
    select distinct
        store_id,
        concept_id,
        unnest([in_force_from - 1, in_force_from, in_force_to, in_force_to + 1]) as happened_on
    from intervals
),

expected as (
    select
        facts.store_id,
        facts.concept_id,
        facts.happened_on,
        count(intervals.record_index) as record_count,
        case when count(intervals.record_index) = 1 then min(intervals.record_id) end as record_id
    from facts
    left join intervals
        on facts.store_id = intervals.store_id and facts.concept_id = intervals.concept_id
        and facts.happened_on >= intervals.in_force_from and coalesce(facts.happened_on <= intervals.in_force_to, true)
    group by all
),

joined as (
    select
        store_id,
        concept_id,
        happened_on,
        as_of_record_count as record_count,
        as_of_record_id as record_id
    from ({{ governed_memory.as_of_join('facts', 'happened_on', 'concept_id', store_column='store_id', include_restricted=true) }})
),

{{ governed_memory.rows_that_differ('expected', 'joined') }}

select * from differences
