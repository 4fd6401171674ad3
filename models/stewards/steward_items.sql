{#- An entry of the trace that lacks what it needs has no effect: a snooze its reason and last day, an assignment or acknowledgement who made
    it. The last one of each kind counts. -#}
with

items as (select * from {{ governed_memory.relation('int_steward_items') }}),

builds as (select * from {{ governed_memory.relation('int_worklist_build') }}),

actions as (
    select *
    from {{ governed_memory.relation('stg_steward_actions') }}
    where not coalesce({{ governed_memory.is_blank('acted_by') }}, true)
),

latest as (
    select *
    from actions
    where action <> 'snooze' or (snoozed_until is not null and not coalesce({{ governed_memory.is_blank('reason') }}, true))
    qualify row_number() over (partition by item_id, action order by acted_at desc nulls last, entry_number desc) = 1
),

steward_items as (
    select
        items.*,
        acknowledged.acted_by as acknowledged_by,
        acknowledged.acted_at as acknowledged_at,
        assigned.party_id as assigned_to,
        snoozed.snoozed_until,
        snoozed.reason as snooze_reason,
        coalesce(snoozed.snoozed_until > builds.on_date, false) as is_snoozed
    from items
    cross join builds
    left join latest as acknowledged on items.item_id = acknowledged.item_id and acknowledged.action = 'acknowledge'
    left join latest as assigned on items.item_id = assigned.item_id and assigned.action = 'assign'
    left join latest as snoozed on items.item_id = snoozed.item_id and snoozed.action = 'snooze'
)

select * from steward_items
