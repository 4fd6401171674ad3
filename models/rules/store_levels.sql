{#- presence_level agrees with the published checker (L1), and so knows no waivers; level also asks the value rules (L2). An empty store reaches none. -#}
with

stores as (select * from {{ governed_memory.relation('stores') }}),

statuses as (select * from {{ governed_memory.relation('rule_statuses') }}),

row_counts as (
    select store_id, count(*) as row_count
    from {{ governed_memory.relation('record_rows') }}
    group by all
),

failed as (
    select
        store_id,
        min(level) filter (where kind = 'presence') as lowest_presence_failure,
        min(level) filter (where finding_count > 0) as lowest_failure
    from statuses
    where finding_count + waived_count > 0 and requirement = 'MUST'
    group by all
),

store_levels as (
    select
        stores.store_id,
        stores.form,
        stores.target_level,
        coalesce(row_counts.row_count, 0) as row_count,
        case when row_counts.row_count > 0 then coalesce(failed.lowest_presence_failure - 1, 3) else 0 end as presence_level,
        case when row_counts.row_count > 0 then coalesce(failed.lowest_failure - 1, 3) else 0 end as level
    from stores
    left join row_counts on stores.store_id = row_counts.store_id
    left join failed on stores.store_id = failed.store_id
)

select
    *,
    level >= target_level as is_met
from store_levels
