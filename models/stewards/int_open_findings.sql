{#- Neither waived nor in the baseline. Several alike, as of rows that share an identifier, are told apart by their place. -#}
with

lost as (
    select
        *,
        'supersedes ' || predecessor_id as detail
    from {{ governed_memory.relation('int_lost_supersessions') }}
),

findings as (
    select
        findings.*,
        lost.predecessor_id,
        lost.ineffective_reason
    from {{ governed_memory.relation('findings') }} as findings
    left join lost
        on findings.store_id = lost.store_id and findings.record_index = lost.successor_index and findings.detail = lost.detail
        and findings.rule_id in ('supersedes_unresolved', 'supersession_cycle', 'supersession_unauthorized', 'supersession_ineffective')
    where not findings.is_waived
),

open_findings as (
    select
        case
            when ineffective_reason is not null then 'ineffective_supersession'
            when rule_id = 'expected_concept_missing' then 'gap'
            else 'finding'
        end as kind,
        store_id,
        record_id,
        concept_id,
        field,
        rule_id,
        rule_id as topic_id,
        level,
        requirement,
        concat_ws(', ', detail, ineffective_reason) as detail,
        list_filter([record_id, predecessor_id], lambda name: name is not null) as record_ids,
        null::date as since_on,
        null::bigint as affected_answers,
        party_id,
        party_role,
        to_json([fingerprint, predecessor_id, (row_number() over alike)::varchar])::varchar as identity
    from findings
    window alike as (partition by fingerprint, predecessor_id order by record_index, detail)
)

select * from open_findings
