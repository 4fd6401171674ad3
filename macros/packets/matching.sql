{#- The concepts of which a record in force on a day has words of a question and may be seen by the caller, those with the most words first: what a
    packet asks about. A record that the caller may not see finds nothing, and is not counted. `next_start` is the next day on which a record of the
    caller's with such words begins. -#}
{% macro matching_concepts() -%}
with

-- As one list, which the planner takes for one row: so it looks for what matched among the records, and never the other way round
hits as (
    select unnest(numbers) as record_number
    from (
        select list(record_number) as numbers
        from {{ governed_memory.relation('record_terms') }}
        where term in (__terms__)
    )
),

matched as (
    select
        record_number,
        count(*) as matched_terms
    from hits
    group by record_number
),

seen as (
    select
        searchable.store_id,
        searchable.concept_id,
        matched.matched_terms,
        searchable.in_force_from,
        coalesce(searchable.in_force_from <= $on_date::date, true) as has_begun
    from {{ governed_memory.relation('searchable_records') }} as searchable
    inner join matched on searchable.record_number = matched.record_number
    where
        coalesce(searchable.in_force_to >= $on_date::date, true)
        and ($store_id::varchar is null or searchable.store_id = $store_id)
        and {{ governed_memory.is_visible('searchable.is_restricted', 'searchable.release_to', '$parties::varchar[]', '$boundary') }}
),

concepts as (
    select
        concept_id,
        max(matched_terms) filter (where has_begun) as matched_terms,
        min(in_force_from) filter (where not has_begun) as begins_on
    from seen
    group by concept_id
),

bounded as (
    select
        *,
        min(begins_on) over () as next_start
    from concepts
)

select * exclude (begins_on)
from bounded
where matched_terms is not null
order by matched_terms desc, concept_id
limit $most
{%- endmacro %}
