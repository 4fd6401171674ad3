{{ config(materialized='table') }}
{#- value is kept as text and never judged here. Stored ends stay as stated: nothing in this model derives one (T4). -#}
with

store_rows as (select * from {{ governed_memory.relation('stg_store_rows') }}),

stores as (select * from {{ governed_memory.relation('stg_stores') }}),

texts as (
    select
        store_rows.* exclude (
            record_id, concept, source, concept_owner, owner_role, conflict_policy, valid_from, valid_to, recorded_at, value
        ),
        stores.is_valid_to_exclusive,
        stores.is_null_end_open,
        stores.zone,
        stores.open_markers,
        {% for role in ['record_id', 'concept', 'source', 'concept_owner', 'owner_role', 'conflict_policy', 'valid_from', 'valid_to', 'recorded_at'] %}
        {{ governed_memory.text_value('store_rows.' ~ role) }} as {{ role }},
        {% endfor %}
        store_rows.value ->> '$' as value,
        hash(store_rows.value) as value_hash,
        coalesce(store_rows.valid_to in ('""', '[]', '{}') or {{ governed_memory.is_blank("store_rows.valid_to ->> '$'") }}, false) as is_valid_to_blank,
        {{ governed_memory.malformed_field() }} as malformed_field,
    from store_rows
    inner join stores on store_rows.store_id = stores.store_id
),

dates as (
    select
        *,
        {{ governed_memory.plain_date('valid_from') }} as valid_from_date,
        {{ governed_memory.plain_date('valid_to') }} as valid_to_date,
        case when length(valid_from) > 10 then {{ governed_memory.zoned_timestamp('valid_from', 'zone') }} end as valid_from_time,
        case when length(valid_to) > 10 then {{ governed_memory.zoned_timestamp('valid_to', 'zone') }} end as valid_to_time,
    from texts
),

ends as (
    select
        *,
        coalesce(valid_from_date, cast(valid_from_time as date)) as starts_on,
        coalesce(lower(valid_to) in ('infinity', '+infinity') or coalesce(valid_to_date, valid_to_time) >= date '9999-01-01', false) as is_end_sentinel,
        coalesce(
            valid_to_date - cast(is_valid_to_exclusive as integer),
            cast(case when is_valid_to_exclusive then valid_to_time - interval 1 microsecond else valid_to_time end as date)
        ) as ends_on,
    from dates
),

record_rows as (
    select
        store_id,
        record_index,
        record_id,
        concept as concept_id,
        value,
        value_hash,
        starts_on as valid_from,
        case when not is_end_sentinel then ends_on end as valid_to,
        is_valid_to_stated and (is_null_end_open or not is_from_columns or valid_to is not null) as is_valid_to_stated,
        case when valid_from is not null and starts_on is null then 'not_a_date' end as valid_from_problem,
        case
            when is_end_sentinel then 'sentinel'
            when valid_to is not null and ends_on is null then 'not_a_date'
            when is_valid_to_blank and is_from_columns then 'blank'
            when is_valid_to_blank then 'not_a_date'
        end as valid_to_problem,
        source as source_id,
        concept_owner,
        owner_role,
        conflict_policy,
        {{ governed_memory.list_value('applies_to') }} as applies_to,
        {{ governed_memory.list_value('does_not_apply_to') }} as does_not_apply_to,
        {{ governed_memory.list_value('release_to') }} as release_to,
        {{ governed_memory.list_value('supersedes') }} as supersedes,
        {{ governed_memory.text_value('classification') }} as classification,
        {{ governed_memory.text_value('confidential') }} as confidential,
        {{ governed_memory.text_value('restricted') }} as restricted,
        {{ governed_memory.text_value('policy') }} as policy,
        {{ governed_memory.text_value('rule') }} as rule,
        {{ governed_memory.text_value('priority') }} as priority,
        {{ governed_memory.text_value('withdrawal') }} as withdrawal,
        {{ governed_memory.text_value('written_by') }} as written_by,
        coalesce({{ governed_memory.zoned_timestamp('recorded_at', "'UTC'") }}, {{ governed_memory.plain_date('recorded_at') }}) as recorded_at,
        open_markers,
        has_repeated_key,
        malformed_field,
    from ends
)

select * from record_rows
