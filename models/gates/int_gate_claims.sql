{#- A gate over others rests on their claims. A stage without a claim is kept, without one, so that neither it nor the set of stages holds. -#}
with

gate_definitions as (select * from {{ governed_memory.relation('gate_definitions') }}),

gate_evidence as (select * from {{ governed_memory.relation('gate_evidence') }}),

stage_claims as (
    select
        stages.gate_id as stage_id,
        gate_evidence.kind,
        gate_evidence.subject,
        gate_evidence.tests
    from gate_definitions as stages
    left join gate_evidence on stages.gate_id = gate_evidence.gate_id
    where stages.rests_on = 'its own claims'
),

gate_claims as (
    select
        gates.gate_id,
        stage_claims.*
    from gate_definitions as gates
    inner join stage_claims
        on gates.gate_id = stage_claims.stage_id or gates.rests_on = 'every stage'
    union all
    select
        gates.gate_id,
        gate_evidence.gate_id as stage_id,
        gate_evidence.kind,
        gate_evidence.subject,
        gate_evidence.tests
    from gate_definitions as gates
    inner join gate_evidence
        on gates.rests_on = concat('every ', gate_evidence.kind)
)

select * from gate_claims
