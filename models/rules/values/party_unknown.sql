with

records as (select * from {{ governed_memory.relation('records') }}),

parties as (select * from {{ governed_memory.relation('parties') }}),

named as (
    select store_id, record_index, record_id, concept_id, 'concept_owner' as field, concept_owner as party_id
    from records
    where concept_owner is not null
    union all
    select store_id, record_index, record_id, concept_id, 'release_to' as field, unnest(list_distinct(release_to)) as party_id
    from records
    where release_to is not null
),

violations as (
    select distinct
        named.store_id,
        named.record_index,
        {{ governed_memory.offender_of('named') }} as record_id,
        named.concept_id,
        named.field,
        'party_unknown' as rule_id,
        null::varchar as detail
    from named
    anti join parties on named.party_id = parties.party_id
    where (select count(*) from {{ governed_memory.relation('parties') }}) > 0
)

select * from violations
