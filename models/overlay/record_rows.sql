{{ config(materialized='table') }}
{#- Ends stay as stated: nothing in this model derives one (T4). No join: rows keep the order in which they arrive. -#}
with

store_rows as (select * from {{ governed_memory.relation('stg_store_rows') }}),

texts as (
    select
        store_rows.store_id,
        store_rows.record_index,
        store_rows.is_valid_to_stated as is_end_stated,
        store_rows.has_repeated_key,
        store_rows.is_from_columns,
        store_rows.is_valid_to_exclusive,
        store_rows.is_null_end_open,
        store_rows.zone,
        store_rows.open_markers,
        {% for role in governed_memory.roles() if role != 'value' -%}
        {{ governed_memory.role_value(role, 'store_rows') }} as {{ role }},
        {{ governed_memory.is_stated('store_rows.' ~ role) }} as is_{{ role }}_stated,
        {% endfor %}
        store_rows.value ->> '$' as value,
        hash(store_rows.value) as value_hash,
        coalesce(store_rows.conflict_policy = 'false' or regexp_full_match(store_rows.conflict_policy, '-?0+([.]0+)?([eE].*)?'), false) as is_policy_denied,
        coalesce(store_rows.valid_to in ('""', '[]', '{}') or {{ governed_memory.is_blank("store_rows.valid_to ->> '$'") }}, false) as is_end_blank,
        {{ governed_memory.malformed_field() }} as malformed_field
    from store_rows
),

{{ governed_memory.dated('texts') }},

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
        is_valid_from_stated,
        is_end_stated and (is_null_end_open or not is_from_columns or is_valid_to_stated) as is_valid_to_stated,
        case when valid_from is not null and starts_on is null then 'not_a_date' end as valid_from_problem,
        case
            when is_end_sentinel then 'sentinel'
            when valid_to is not null and ends_on is null then 'not_a_date'
            when is_end_blank and is_from_columns then 'blank'
            when is_end_blank then 'not_a_date'
        end as valid_to_problem,
        source as source_id,
        concept_owner,
        owner_role,
        case when not is_policy_denied then conflict_policy end as conflict_policy,
        applies_to,
        does_not_apply_to,
        release_to,
        supersedes,
        classification,
        confidential,
        restricted,
        policy,
        rule,
        priority,
        {% for role in governed_memory.presence_roles() -%}
        is_{{ role }}_stated,
        {% endfor %}
        is_conflict_policy_stated and not is_policy_denied as states_policy,
        is_conflict_policy_stated or is_policy_stated or is_rule_stated or is_applies_to_stated or is_does_not_apply_to_stated as states_rule,
        is_classification_stated or is_confidential_stated or is_restricted_stated or is_release_to_stated as carries_restriction,
        withdrawal,
        written_by,
        coalesce({{ governed_memory.zoned_timestamp('recorded_at', "'UTC'") }}, {{ governed_memory.plain_date('recorded_at') }}) as recorded_at,
        open_markers,
        has_repeated_key,
        malformed_field
    from dated
)

select * from record_rows
