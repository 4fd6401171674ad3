{{ config(materialized='table') }}
{#- True only where each claim holds, and there is one (docs/gates.md). A test that several claims share counts once. -#}
with

rests_on as (select * from {{ governed_memory.relation('int_gate_claims') }}),

test_counts as (
    select
        rests_on.gate_id,
        count(distinct tested.test) filter (where tested.outcome = 'passed') as tests_passed,
        count(distinct tested.test) filter (where tested.outcome = 'failed') as tests_failed,
        count(distinct tested.test) filter (where tested.outcome = 'skipped') as tests_skipped
    from rests_on
    inner join {{ governed_memory.relation('int_claim_tests') }} as tested
        on rests_on.stage_id = tested.gate_id and rests_on.subject = tested.subject and rests_on.tests = tested.tests
    group by all
),

judged as (
    select
        rests_on.gate_id,
        rests_on.kind,
        rests_on.subject,
        coalesce(claims.is_held, false) as is_held,
        case when claims.is_held is null then concat(rests_on.stage_id, ': nothing is its evidence') else claims.problem end as problem
    from rests_on
    left join {{ governed_memory.relation('gate_claims') }} as claims
        on rests_on.stage_id = claims.gate_id and rests_on.subject = claims.subject and rests_on.tests = claims.tests
),

subjects as (
    select
        gate_id,
        kind,
        subject,
        bool_and(is_held) as is_held
    from judged
    where subject is not null
    group by all
),

subject_counts as (
    select
        gate_id,
        count(*) filter (where kind = 'rule' and is_held) as rules_covered,
        count(*) filter (where kind = 'rule') as rules_total,
        count(*) filter (where kind = 'artefact' and is_held) as artefacts_there,
        count(*) filter (where kind = 'artefact') as artefacts_total
    from subjects
    group by all
),

claim_counts as (
    select
        gate_id,
        bool_and(is_held) as is_true,
        list(distinct problem order by problem) filter (where problem is not null) as problems
    from judged
    group by all
),

gates as (
    select
        gate_definitions.gate_id,
        gate_definitions.position,
        coalesce(claim_counts.is_true, false) as is_true,
        coalesce(test_counts.tests_passed, 0) as tests_passed,
        coalesce(test_counts.tests_failed, 0) as tests_failed,
        coalesce(test_counts.tests_skipped, 0) as tests_skipped,
        coalesce(subject_counts.rules_covered, 0) as rules_covered,
        coalesce(subject_counts.rules_total, 0) as rules_total,
        coalesce(subject_counts.artefacts_there, 0) as artefacts_there,
        coalesce(subject_counts.artefacts_total, 0) as artefacts_total,
        case
            when claim_counts.is_true is null then [concat(gate_definitions.gate_id, ': nothing is its evidence')]
            else coalesce(claim_counts.problems, [])
        end as problems
    from {{ governed_memory.relation('gate_definitions') }} as gate_definitions
    left join claim_counts on gate_definitions.gate_id = claim_counts.gate_id
    left join subject_counts on gate_definitions.gate_id = subject_counts.gate_id
    left join test_counts on gate_definitions.gate_id = test_counts.gate_id
)

select * from gates
