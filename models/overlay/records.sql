{{ config(materialized='table') }}
with

record_rows as (
    select
        * exclude (
            {% for role in governed_memory.presence_roles() -%}
            is_{{ role }}_stated,
            {% endfor %}
            states_policy
        )
    from {{ governed_memory.relation('record_rows') }}
),

copies as (
    select store_id, record_index
    from {{ governed_memory.relation('int_rows_sharing_id') }}
    where is_copy
),

first_builds as (
    select store_id, record_id, min(first_built_at) as first_built_at
    from {{ governed_memory.relation('record_ledger') }}
    group by all
),

records as (
    select
        record_rows.* exclude (open_markers, has_repeated_key, malformed_field),  -- noqa: RF02
        coalesce(
            record_rows.release_to is not null
            {% for marker in ['classification', 'confidential', 'restricted'] -%}
            or record_rows.{{ marker }} is not null and not list_contains(record_rows.open_markers, record_rows.{{ marker }})
            {% endfor %},
            false
        ) as is_restricted,
        record_rows.valid_from is not null
        and record_rows.is_valid_to_stated
        and coalesce(record_rows.valid_to_problem <> 'not_a_date', true) as is_validity_known,
        record_rows.withdrawal is not null as is_withdrawal,
        coalesce(record_rows.recorded_at, first_builds.first_built_at) as known_at
    from record_rows
    anti join copies
        on record_rows.store_id = copies.store_id and record_rows.record_index = copies.record_index
    left join first_builds
        on record_rows.store_id = first_builds.store_id and record_rows.record_id = first_builds.record_id
)

select * from records
