-- Of what was read of all stores; whoever takes the build asks this again and compares it with build_handover
with

stores_hashed as (
    select
        store_id,
        concat(store_id, ':', rows_hash) as store_hash
    from {{ governed_memory.relation('attached_hashes') }}
),

roots as (
    select sha256(coalesce(string_agg(store_hash, ',' order by store_id), '')) as root
    from stores_hashed
)

select
    builds.built_at::varchar as generation,
    roots.root,
    builds.built_at as told_at
from {{ governed_memory.relation('stg_build') }} as builds
cross join roots
