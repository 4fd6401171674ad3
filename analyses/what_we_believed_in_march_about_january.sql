-- What the stores said on 1 March about 1 January (T6), beside what they say now about that day; of the build's year, or the year before
-- where March is still to come.
-- How to read it: `said then and now` stood the test; `said then, not now` was corrected since; `said now, not then` was written down later.
-- Without recorded_at a record counts as known from the first build that saw it.
{%- set year = "(select year(on_date) - (month(on_date) < 3)::integer from " ~ governed_memory.relation('stg_build') ~ ")" -%}
{%- set as_of = governed_memory.relation('records_as_of') %}
with

believed as (select * from {{ as_of }}(make_date({{ year }}, 1, 1), known_on := make_date({{ year }}, 3, 1))),

said_now as (select * from {{ as_of }}(make_date({{ year }}, 1, 1)))

select
    coalesce(believed.store_id, said_now.store_id) as store_id,
    coalesce(believed.concept_id, said_now.concept_id) as concept_id,
    coalesce(believed.record_id, said_now.record_id) as record_id,
    case
        when said_now.store_id is null then 'said then, not now'
        when believed.store_id is null then 'said now, not then'
        else 'said then and now'
    end as change,
    coalesce(said_now.recorded_at, believed.recorded_at) as recorded_at
from believed
full outer join said_now on believed.store_id = said_now.store_id and believed.record_index = said_now.record_index
order by store_id, concept_id, record_id, change
