{{ config(materialized='table') }}
-- What an export says of another build is no longer held against this one
select
    packets.*,
    coalesce(packets.built_at = builds.built_at, false) as is_of_this_build
from {{ governed_memory.relation('stg_packets') }} as packets
cross join {{ governed_memory.relation('stg_build') }} as builds
