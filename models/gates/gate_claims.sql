{{ config(materialized='table') }}
{#- A claim holds where one of its tests passed and none failed: one that was only skipped, or did not run, shows nothing. -#}
with

counts as (
    select
        gate_id,
        subject,
        tests,
        count(*) filter (where outcome = 'passed') as tests_passed,
        count(*) filter (where outcome = 'failed') as tests_failed,
        count(*) filter (where outcome = 'skipped') as tests_skipped,
        min(test) filter (where outcome = 'failed') as failed_test
    from {{ governed_memory.relation('int_claim_tests') }}
    group by all
),

gate_claims as (
    select
        evidence.gate_id,
        evidence.kind,
        evidence.subject,
        evidence.suite,
        evidence.tests,
        evidence.claim,
        coalesce(counts.tests_passed, 0) as tests_passed,
        coalesce(counts.tests_failed, 0) as tests_failed,
        coalesce(counts.tests_skipped, 0) as tests_skipped,
        coalesce(counts.tests_passed > 0 and counts.tests_failed = 0, false) as is_held,
        case
            when counts.tests_failed > 0 then concat(evidence.subject, ': ', counts.tests_failed, ' failed, the first ', counts.failed_test)
            when counts.tests_passed > 0 then null
            when counts.tests_skipped > 0 then concat(evidence.subject, ': only skipped: ', evidence.suite, ' ', evidence.tests)
            else concat(evidence.subject, ': did not run: ', evidence.suite, ' ', evidence.tests)
        end as problem
    from {{ governed_memory.relation('gate_evidence') }} as evidence
    left join counts
        on evidence.gate_id = counts.gate_id and evidence.subject = counts.subject and evidence.tests = counts.tests
)

select * from gate_claims
