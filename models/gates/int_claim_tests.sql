{#- A test that several reports name counts once: failed where any says so, skipped where none says that it ran. An outcome of another word is no success. -#}
with

outcomes as (
    select
        suite,
        concat(file, '::', test_name) as test,
        case
            when not bool_and(coalesce(outcome in ('passed', 'skipped'), false)) then 'failed'
            when bool_or(outcome = 'passed') then 'passed'
            else 'skipped'
        end as outcome
    from {{ governed_memory.relation('stg_test_outcomes') }}
    group by all
),

claim_tests as (
    select
        evidence.gate_id,
        evidence.subject,
        evidence.tests,
        outcomes.suite,
        outcomes.test,
        outcomes.outcome
    from {{ governed_memory.relation('gate_evidence') }} as evidence
    inner join outcomes on evidence.suite = outcomes.suite and regexp_full_match(outcomes.test, evidence.tests)
)

select * from claim_tests
