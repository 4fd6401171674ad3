{{ config(materialized='table') }}
{#- What a search has to know of a record to tell whether somebody may find it on a day. Narrow, with one number as its key: a common word finds
    very many. -#}
select
    row_number() over (order by store_id, record_index) as record_number,
    store_id,
    record_index,
    concept_id,
    is_restricted,
    release_to,
    in_force_from,
    in_force_to
from {{ governed_memory.relation('record_intervals_built') }}
where interval_status in ('in_force', 'validity_unknown') and concept_id is not null
order by record_number
