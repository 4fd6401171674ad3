{#- A source may be registered for one store or, without one, for all: what a store says of it counts first. -#}
with

stores as (select * from {{ governed_memory.relation('stores') }}),

sources as (select * from {{ governed_memory.relation('sources') }}),

source_ranks as (
    select
        stores.store_id,
        sources.source_id,
        coalesce(min(sources.source_rank) filter (where sources.store_id is not null), min(sources.source_rank)) as source_rank
    from stores
    inner join sources on stores.store_id = coalesce(sources.store_id, stores.store_id)
    where sources.source_rank is not null
    group by all
)

select * from source_ranks
