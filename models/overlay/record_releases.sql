with

records as (select * from {{ governed_memory.relation('records') }}),

record_releases as (
    select distinct store_id, record_id, unnest(release_to) as party_id
    from records
    where release_to is not null
)

select * from record_releases
