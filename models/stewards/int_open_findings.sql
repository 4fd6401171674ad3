{#- Neither waived nor in the baseline. Several alike, as of rows that share an identifier, are told apart by their place. What a restricted
    record says it replaces is left out where no record has that name: it may be any text (L6). -#}
with

lost as (
    select
        lost.*,
        'supersedes ' || lost.predecessor_id as detail,
        successors.is_restricted and lost.ineffective_reason = 'points_at_nothing' as is_hidden
    from {{ governed_memory.relation('int_lost_supersessions') }} as lost
    inner join {{ governed_memory.relation('records') }} as successors
        on lost.store_id = successors.store_id and lost.successor_index = successors.record_index
),

of_all_stores as (
    select distinct concept_id
    from {{ governed_memory.relation('expected_concepts') }}
    where store_id is null
),

findings as (
    select
        findings.*,
        of_all_stores.concept_id is not null as is_expected_of_all_stores,
        lost.predecessor_id,
        lost.ineffective_reason,
        coalesce(lost.is_hidden, false) as is_hidden
    from {{ governed_memory.relation('findings') }} as findings
    left join lost
        on findings.store_id = lost.store_id and findings.record_index = lost.successor_index and findings.detail = lost.detail
        and findings.rule_id in ('supersedes_unresolved', 'supersession_cycle', 'supersession_unauthorized', 'supersession_ineffective')
    left join of_all_stores on findings.rule_id = 'expected_concept_missing' and findings.concept_id = of_all_stores.concept_id
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
        case when is_expected_of_all_stores then 'expected_of_all_stores' else rule_id end as topic_id,
        level,
        requirement,
        concat_ws(', ', case when not is_hidden then detail end, ineffective_reason) as detail,
        list_filter([record_id, case when not is_hidden then predecessor_id end], lambda name: name is not null) as record_ids,
        null::date as since_on,
        null::bigint as affected_answers,
        party_id,
        party_role,
        to_json([fingerprint, predecessor_id, (row_number() over alike)::varchar])::varchar as identity
    from findings
    window alike as (partition by fingerprint, predecessor_id order by record_index, detail)
)

select * from open_findings
