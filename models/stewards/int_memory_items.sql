{#- What waits for somebody of memory: cells in doubt, and changes of records that were proposed. Without `vars: memory:` nothing does, and memory may
    be left out of the build. -#}
{%- if governed_memory.memory_places() -%}
with

cell_items as (
    select
        'in_doubt' as kind,
        null::varchar as store_id,
        cell_id as record_id,
        null::varchar as concept_id,
        'source_ids' as field,
        case when is_learned then 'in_doubt_learned' else 'in_doubt' end as topic_id,
        case
            when len(revoked_cell_ids) > 0 then 'derives from ' || array_to_string(revoked_cell_ids, ', ') || ', revoked'
            else 'doubted by an annotation'
        end as detail,
        null::varchar[] as record_ids,
        since_on,
        party as party_id,
        role as party_role
    from {{ governed_memory.relation('doubted_cells') }}
),

-- Open until a record of the store names it as its source
proposals as (
    select
        proposals.*,
        null::varchar as claimed_owner,
        null::varchar as claimed_role
    from (
        select
            told.proposal_id,
            told.store_id,
            told.concept as concept_id,
            told.supersedes,
            told.principal,
            cast(told.recorded_at as date) as since_on
        from {{ governed_memory.relation('proposals') }} as told
        where told.kind = 'record'
    ) as proposals
    left join {{ governed_memory.relation('records') }} as records
        on proposals.store_id = records.store_id and proposals.proposal_id = records.source_id
    where records.store_id is null
),

{{ governed_memory.acting('proposals') }},

proposal_items as (
    select
        'proposal' as kind,
        store_id,
        proposal_id as record_id,
        concept_id,
        'value' as field,
        'proposal' as topic_id,
        'proposed by ' || principal || ' in place of ' || array_to_string(supersedes, ', ') as detail,
        supersedes as record_ids,
        since_on,
        party_id,
        party_role
    from acting
),

items as (
    select * from cell_items
    union all by name
    select * from proposal_items
)

select
    *,
    null::varchar as rule_id,
    null::integer as level,
    null::varchar as requirement,
    0::bigint as affected_answers,
    to_json([kind, record_id])::varchar as identity
from items
{%- else -%}
select
    null::varchar as kind,
    null::varchar as store_id,
    null::varchar as record_id,
    null::varchar as concept_id,
    null::varchar as field,
    null::varchar as topic_id,
    null::varchar as detail,
    null::varchar[] as record_ids,
    null::date as since_on,
    null::varchar as party_id,
    null::varchar as party_role,
    null::varchar as rule_id,
    null::integer as level,
    null::varchar as requirement,
    null::bigint as affected_answers,
    null::varchar as identity
where false
{%- endif %}
