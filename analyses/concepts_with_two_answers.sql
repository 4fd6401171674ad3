-- Which concepts had more than one answer on the build's date. For another day, build with --vars '{on_date: 2026-07-01}'.
-- How to read it: where is_settled_by_scope is true the records are for different classes of questions and no class gets two of them;
-- the others contradict each other, unless the concept is one with several answers at a time. record_ids leaves restricted records out.
with

builds as (select * from {{ governed_memory.relation('stg_build') }}),

concepts as (select * from {{ governed_memory.relation('concepts') }}),

disputed as (
    select periods.*
    from {{ governed_memory.relation('concept_periods') }} as periods
    inner join builds on periods.starts_on <= builds.on_date and coalesce(periods.ends_on >= builds.on_date, true)
    where periods.status = 'several_in_force'
)

select
    disputed.store_id,
    disputed.concept_id,
    coalesce(concepts.cardinality, 'one') as cardinality,
    disputed.record_count,
    disputed.record_ids,
    disputed.starts_on as since,
    disputed.ends_on as until,
    not exists (
        select 1 from disputed as scoped
        where scoped.is_scoped and scoped.store_id = disputed.store_id and scoped.concept_id = disputed.concept_id
    ) as is_settled_by_scope
from disputed
left join concepts on disputed.concept_id = concepts.concept_id
where not disputed.is_scoped
order by is_settled_by_scope, disputed.store_id, disputed.concept_id
