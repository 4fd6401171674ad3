{#- What is open of a concept rather than of a rule. A supersession of a shared identifier is here because the rule about it names other records. -#}
with

gap_items as (
    select
        'gap' as kind,
        store_id,
        null::varchar as record_id,
        concept_id,
        'expected_concepts' as field,
        null::varchar as rule_id,
        case when gap = 'not_in_force' and last_record_id is null then 'gap_not_begun' else 'gap_' || gap end as topic_id,
        'concept ' || concept_id || ': ' || gap as detail,
        list_filter([last_record_id], lambda name: name is not null) as record_ids,
        since_on,
        null::bigint as affected_answers,
        gap as distinction,
        null::varchar as claimed_owner,
        null::varchar as claimed_role
    from {{ governed_memory.relation('concept_gaps') }}
    where gap <> 'missing'
),

conflict_items as (
    select
        'conflict' as kind,
        store_id,
        null::varchar as record_id,
        concept_id,
        'conflict_policy' as field,
        null::varchar as rule_id,
        'conflict' as topic_id,
        'undecided between ' || array_to_string(record_ids, ', ') as detail,
        record_ids,
        since_on,
        affected_answers,
        to_json(record_ids)::varchar as distinction,
        null::varchar as claimed_owner,
        null::varchar as claimed_role
    from {{ governed_memory.relation('int_conflicts') }}
),

supersession_items as (
    select
        'ineffective_supersession' as kind,
        store_id,
        record_id,
        concept_id,
        'supersedes' as field,
        null::varchar as rule_id,
        ineffective_reason as topic_id,
        'supersedes ' || predecessor_id || ', ' || ineffective_reason as detail,
        [record_id, predecessor_id] as record_ids,
        null::date as since_on,
        null::bigint as affected_answers,
        to_json([record_id, predecessor_id])::varchar as distinction,
        claimed_owner,
        claimed_role
    from {{ governed_memory.relation('int_lost_supersessions') }}
    where ineffective_reason = 'duplicate_record_id'
),

items as (
    select * from gap_items
    union all
    select * from conflict_items
    union all
    select distinct * from supersession_items
),

{{ governed_memory.acting('items') }}

select
    * exclude (distinction),
    null::integer as level,
    null::varchar as requirement,
    to_json([kind, store_id, concept_id, distinction])::varchar as identity
from acting
