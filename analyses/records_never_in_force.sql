-- Which records are in force on no day, and why. Withdrawals are left out: they only end others.
-- How to read it: `was_wrong` is a correction and needs nothing done. The others are rarely meant: give a date, a new identifier or a later
-- successor, always as a new record.
with

intervals as (select * from {{ governed_memory.relation('record_intervals_built') }})

select
    store_id,
    concept_id,
    record_id,
    case
        when interval_status = 'validity_unknown' and valid_from is null then 'no first day that can be read'
        when interval_status = 'validity_unknown' then 'no end that can be read, and not said to be open'
        when interval_status = 'duplicate_record_id' then 'another record has its identifier'
        when valid_to < valid_from then 'ends before it begins'
        when end_reason = 'was_wrong' then 'withdrawn from its first day'
        else 'replaced from its first day or earlier'
    end as why,
    valid_from,
    valid_to,
    ended_by,
    concept_owner,
    owner_role
from intervals
where interval_status in ('never_in_force', 'validity_unknown', 'duplicate_record_id')
order by why, store_id, concept_id, record_id
