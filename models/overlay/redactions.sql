{#- Erased again, a field has the last entry about it. -#}
with

redactions as (
    select
        store_id,
        record_id,
        field,
        replacement,
        asked_by,
        because,
        recorded_by,
        recorded_at,
        {{ governed_memory.field_fingerprint('field', 'replacement') }} as field_fingerprint
    from {{ governed_memory.relation('stg_redactions') }}
    where store_id is not null and record_id is not null and field is not null
    qualify row_number() over (partition by store_id, record_id, field order by recorded_at desc nulls last, because asc, replacement asc) = 1
)

select * from redactions
