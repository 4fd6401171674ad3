{#- Store by store: only where nearly all (at least 95 of 100, and ten records) begin on the day they were recorded. -#}
with

records as (select * from {{ governed_memory.relation('records') }}),

violations as (
    select
        store_id,
        cast(null as bigint) as record_index,
        cast(null as varchar) as record_id,
        cast(null as varchar) as concept_id,
        'valid_from' as field,
        'valid_from_is_recording_date' as rule_id,
        'at least 95 of 100 records' as detail
    from records
    where recorded_at is not null and valid_from is not null
    group by store_id
    having count(*) >= 10 and count(*) filter (where valid_from = cast(recorded_at as date)) >= 0.95 * count(*)
)

select * from violations
