{{ config(materialized='table') }}
-- In the order of the terms, so that a look-up of one reads little
with

texts as (
    select
        searchable.record_number,
        concat_ws(' ', searchable.concept_id, records.value) as text
    from {{ governed_memory.relation('searchable_records') }} as searchable
    inner join {{ governed_memory.relation('records') }} as records
        on searchable.store_id = records.store_id and searchable.record_index = records.record_index
),

terms as (
    select
        unnest({{ governed_memory.words_of('text') }}) as term,
        record_number
    from texts
)

select * from terms
order by term, record_number
