{#- Twelve fields by six targets are 72 cells, each once, and none is left out. -#}
with

mappings as (select * from {{ governed_memory.relation('field_mappings') }}),

expected as (
    select profile_fields.field_id, targets.target
    from {{ governed_memory.relation('profile_fields') }} as profile_fields
    cross join (select distinct target from mappings) as targets
),

faults as (
    select 'not 72 cells' as fault, null as field_id, null as target
    from mappings
    having count(*) <> 72
    union all
    select 'repeated' as fault, field_id, target
    from mappings
    group by field_id, target
    having count(*) > 1
    union all
    select 'left out' as fault, expected.field_id, expected.target
    from expected
    anti join mappings on expected.field_id = mappings.field_id and expected.target = mappings.target
)

select * from faults
