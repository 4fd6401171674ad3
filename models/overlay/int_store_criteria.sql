{#- Where a store names no policy the reference policy holds, owner-then-latest: the owning team's record stands, within one team the later to
    begin. A policy may be a single criterion, by its name; one that is registered nowhere decides nothing, so that rivals stay unresolved. -#}
with

stores as (select * from {{ governed_memory.relation('stores') }}),

policy_criteria as (select * from {{ governed_memory.relation('policy_criteria') }}),

ends as (
    select policy_id, min(position) as abstains_at
    from policy_criteria
    where criterion = 'abstain'
    group by all
),

deciding as (
    select
        policy_criteria.policy_id,
        list(policy_criteria.criterion order by policy_criteria.position) as criteria
    from policy_criteria
    left join ends on policy_criteria.policy_id = ends.policy_id
    where coalesce(policy_criteria.position < ends.abstains_at, true)
    group by all
),

store_criteria as (
    select
        stores.store_id,
        stores.attests_writers,
        case
            when deciding.criteria is not null then deciding.criteria
            when coalesce(stores.policy_id, 'owner-then-latest') = 'owner-then-latest' then ['latest_valid_from']
            when stores.policy_id in ('source_rank', 'latest_valid_from', 'latest_recorded') then [stores.policy_id]
            else []
        end as criteria
    from stores
    left join deciding on stores.policy_id = deciding.policy_id
)

select * from store_criteria
