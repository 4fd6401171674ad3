-- Which records lead to no source that can be followed, and which are restricted and released to nobody.
-- How to read it: one row per record and problem, with who must act; the words are the checks' own (docs/checks.md). Nobody may read a
-- restricted record without a release list, so its concept is refused to every caller.
with

findings as (select * from {{ governed_memory.relation('findings') }}),

records as (select * from {{ governed_memory.relation('records') }}),

unfollowable as (
    select stores.store_id, sources.source_id
    from {{ governed_memory.relation('sources') }} as sources
    inner join {{ governed_memory.relation('stores') }} as stores on stores.store_id = coalesce(sources.store_id, stores.store_id)
    where coalesce({{ governed_memory.is_blank('sources.locator') }}, true)
),

problems as (
    select store_id, concept_id, record_id, rule_id, party_id, party_role
    from findings
    where rule_id in ('source_missing', 'source_unknown', 'release_to_missing')
    union all
    select records.store_id, records.concept_id, records.record_id, 'source_not_followable' as rule_id, records.concept_owner, records.owner_role
    from records
    inner join unfollowable on records.store_id = unfollowable.store_id and records.source_id = unfollowable.source_id
)

select *
from problems
order by rule_id, store_id, concept_id, record_id
