-- What came into force, what ended, why and by what, and which concepts changed owner, between two days.
-- How to read it: one row per change, on the first day that differs; with known_on as known then.
select
    changed_on,
    store_id,
    concept_id,
    record_id,
    kind,
    end_reason,
    ended_by,
    owners_before,
    owners_after
from {{ ref('changes_between') }}(date '2026-07-01', date '2026-10-01')
order by changed_on, store_id, concept_id, record_id
