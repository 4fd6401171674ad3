{#- One presence rule per field that a level asks for, at the same level and as strict; the field on trial has none. -#}
with

fields as (
    select field_id, level, requirement from {{ governed_memory.relation('profile_fields') }}
    where level > 0
),

rules as (
    select field as field_id, level, requirement from {{ governed_memory.relation('rules') }}
    where kind = 'presence'
)

(select 'field without a rule' as fault, * from (from fields except all from rules))
union all
(select 'rule without a field', * from (from rules except all from fields))
