{#- What the build has worked out for every question is what the whole resolver says of it on the day of the build. -#}
with

build as (select on_date from {{ governed_memory.relation('stg_build') }}),

looked_up as (
    select store_id, concept_id, outcome, record_id, reasons, withheld_count
    from {{ governed_memory.relation('governed_answers') }}((select on_date from build), ['board'], 'inside')
),

worked_out as (
    select store_id, concept_id, outcome, record_id, reasons, withheld_count
    from {{ governed_memory.relation('governed_answers') }}((select on_date from build), ['board'], 'inside', scope => [])
),

differences as (
    (
        select * from looked_up
        except all
        select * from worked_out
    )
    union all
    (
        select * from worked_out
        except all
        select * from looked_up
    )
)

select * from differences
