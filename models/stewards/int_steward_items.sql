{{ config(materialized='table') }}
{#- A table, like findings: the ledger may be in a file that is not attached when it is read. -#}
with

items as (
    select * from {{ governed_memory.relation('int_open_findings') }}
    union all by name
    select * from {{ governed_memory.relation('int_concept_items') }}
    union all by name
    select * from {{ governed_memory.relation('int_memory_items') }}
),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

answers as (select * from {{ governed_memory.relation('int_current_answers') }}),

of_concepts as (
    select store_id, concept_id, count(*) as answer_count
    from answers
    group by all
),

of_stores as (
    select store_id, sum(answer_count) as answer_count
    from of_concepts
    group by all
),

sides as (
    select store_id, unnest(record_ids) as record_id
    from answers
),

of_records as (
    select store_id, record_id, count(*) as answer_count
    from sides
    group by all
),

first_seen as (
    select store_id, record_id, cast(min(first_built_at) as date) as first_seen_on
    from {{ governed_memory.relation('record_ledger') }}
    group by all
),

steward_items as (
    select
        md5(items.identity) as item_id,
        items.kind,
        items.store_id,
        items.record_id,
        items.concept_id,
        items.field,
        items.rule_id,
        items.level,
        items.requirement,
        items.detail,
        coalesce(items.since_on, first_seen.first_seen_on) as since_on,
        cast(coalesce(
            items.affected_answers,
            case
                when items.kind = 'finding' and items.record_id is not null then coalesce(of_records.answer_count, 0)
                when items.concept_id is not null then coalesce(of_concepts.answer_count, 1)
                else of_stores.answer_count
            end,
            0
        ) as bigint) as affected_answers,
        items.party_id,
        items.party_role,
        {{ governed_memory.item_fix('items', 'rules', 'fixes', 'builds', 'stores') }} as fix
    from items
    cross join builds
    left join {{ governed_memory.relation('rules') }} as rules on items.rule_id = rules.rule_id
    left join {{ governed_memory.relation('steward_fixes') }} as fixes on items.topic_id = fixes.topic_id
    left join {{ governed_memory.relation('stores') }} as stores on items.store_id = stores.store_id
    left join of_concepts on items.store_id = of_concepts.store_id and items.concept_id = of_concepts.concept_id
    left join of_stores on items.store_id = of_stores.store_id
    left join of_records on items.store_id = of_records.store_id and items.record_id = of_records.record_id
    left join first_seen on items.store_id = first_seen.store_id and items.record_id = first_seen.record_id
)

select * from steward_items
