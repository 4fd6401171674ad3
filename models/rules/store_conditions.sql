{{ config(materialized='table') }}
{#- What a rule needs to be asked of a store at all; where it does not hold, the rule is n/a and `reason` says why.
    A table, like history_rewritten: the ledger may be in a file that is not attached when they are read. -#}
with

stores as (select * from {{ governed_memory.relation('stores') }}),

facts as (
    select
        store_id,
        count(*) as row_count,
        bool_or(concept_id is not null) as has_concepts,
        bool_or(carries_restriction) as is_restricted,
        bool_or(states_rule) as states_rule,
        bool_or(recorded_at is not null) as has_recorded_at
    from {{ governed_memory.relation('record_rows') }}
    group by all
),

store_facts as (
    select
        stores.store_id,
        coalesce(facts.row_count, 0) > 0 as always,
        coalesce(facts.has_concepts, false) as has_concepts,
        coalesce(facts.is_restricted, false) as is_restricted,
        coalesce(facts.states_rule, false) as states_rule,
        coalesce(facts.has_recorded_at, false) as has_recorded_at,
        stores.attests_writers,
        {% for register in ['sources', 'expected_concepts'] -%}
        exists(
            select 1 from {{ governed_memory.relation(register) }} as register
            where coalesce(register.store_id, stores.store_id) = stores.store_id
        ) as has_{{ register }},
        {% endfor %}
        exists(
            select 1 from {{ governed_memory.relation('record_ledger') }} as record_ledger
            where record_ledger.store_id = stores.store_id and record_ledger.first_built_at < builds.built_at
        ) as has_history,
        exists(select 1 from {{ governed_memory.relation('parties') }}) as has_parties,
        exists(select 1 from {{ governed_memory.relation('question_classes') }}) as has_question_classes
    from stores
    cross join {{ governed_memory.relation('stg_build') }} as builds
    left join facts on stores.store_id = facts.store_id
),

store_conditions as (
    {% set of_records = ['always', 'has_concepts', 'is_restricted', 'states_rule', 'has_recorded_at'] -%}
    {% for condition, fact, reason in [
        ('always', 'always', 'the store holds no record'),
        ('has_concepts', 'has_concepts', 'no record names a concept'),
        ('is_restricted', 'is_restricted', 'no record is restricted'),
        ('states_rule', 'states_rule', 'no record states a rule'),
        ('has_recorded_at', 'has_recorded_at', 'no record says when it was recorded'),
        ('attests_writers', 'attests_writers', 'the store does not attest who wrote a record'),
        ('has_history', 'has_history', 'no earlier build has seen the store'),
        ('has_source_register', 'has_sources', 'there is no register of sources for this store'),
        ('has_expected_concepts', 'has_expected_concepts', 'no concept is expected of this store'),
        ('has_party_register', 'has_parties', 'there is no register of parties'),
        ('has_question_class_register', 'has_question_classes', 'there is no register of question classes'),
    ] -%}
    select
        store_id,
        '{{ condition }}' as condition_id,
        {{ fact }} as holds,
        {{ condition in of_records }} as is_of_records,
        case when not {{ fact }} then '{{ reason }}' end as reason
    from store_facts
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select * from store_conditions
