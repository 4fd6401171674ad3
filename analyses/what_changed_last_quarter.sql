-- What came into force and what ended in the last full quarter before the build's date, and who changed it.
-- How to read it: one row per record and change, on the day of the change; an end is the first day on which the record no longer holds.
-- changed_by is the attested writer, else the owner claimed, of the record that made the change; null where a record ran out by itself.
with

intervals as (select * from {{ governed_memory.relation('record_intervals_built') }}),

records as (select * from {{ governed_memory.relation('records') }}),

quarters as (
    select
        cast(date_trunc('quarter', on_date) - interval 3 month as date) as starts_on,
        cast(date_trunc('quarter', on_date) as date) - 1 as ends_on
    from {{ governed_memory.relation('stg_build') }}
),

changes as (
    select store_id, concept_id, record_id, 'came into force' as change, in_force_from as changed_on, record_id as changed_with
    from intervals
    union all
    select store_id, concept_id, record_id, end_reason as change, in_force_to + 1 as changed_on, ended_by as changed_with
    from intervals
)

select
    changes.changed_on,
    changes.store_id,
    changes.concept_id,
    changes.record_id,
    changes.change,
    nullif(changes.changed_with, changes.record_id) as replaced_by,
    coalesce(records.written_by, records.concept_owner) as changed_by
from changes
inner join quarters on changes.changed_on between quarters.starts_on and quarters.ends_on
left join records on changes.store_id = records.store_id and changes.changed_with = records.record_id
order by changes.changed_on, changes.store_id, changes.concept_id, changes.record_id, changes.change
