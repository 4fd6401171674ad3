{#- One presence rule per field that a level asks for, at the same level and as strict; the field on trial has none. -#}
with

fields as (
    select * from {{ governed_memory.relation('profile_fields') }}
    where level > 0
),

rules as (
    select * from {{ governed_memory.relation('rules') }}
    where kind = 'presence'
),

differences as (
    select
        fields.field_id,
        rules.rule_id
    from fields
    full outer join rules
        on fields.field_id = rules.field and fields.level = rules.level and fields.requirement = rules.requirement
    where fields.field_id is null or rules.rule_id is null
),

repeated as (
    select
        field as field_id,
        min(rule_id) as rule_id
    from rules
    group by field
    having count(*) > 1
)

select * from differences
union all
select * from repeated
