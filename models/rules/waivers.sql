{#- A waiver without a reason or a last day has no effect, and `problem` says so; any other counts up to and including its last day. -#}
with

waivers as (select * from {{ governed_memory.relation('stg_waivers') }}),

builds as (select * from {{ governed_memory.relation('stg_build') }}),

judged as (
    select
        waivers.*,
        case
            when coalesce({{ governed_memory.is_blank('waivers.reason') }}, true) then 'it gives no reason'
            when waivers.ends_on is null then 'it gives no last day'
        end as problem,
        builds.on_date
    from waivers
    cross join builds
)

select
    store_id,
    rule_id,
    record_id,
    reason,
    ends_on,
    problem,
    problem is null and ends_on >= on_date as is_in_effect
from judged
