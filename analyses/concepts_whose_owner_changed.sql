-- Which concepts passed from one owner to another, by the ownership register.
-- How to read it: one row per hand-over, the latest first. A null owner is nobody: from then on no supersession of the concept counts where
-- writers are attested (T8). Of two entries from one day, the one recorded later holds. A null store stands for all stores.
with

entries as (
    select store_id, concept_id, valid_from, party_id
    from {{ governed_memory.relation('concept_ownerships') }}
    qualify row_number() over (partition by store_id, concept_id, valid_from order by recorded_at desc nulls last, party_id asc nulls last) = 1
),

hand_overs as (
    select
        store_id,
        concept_id,
        valid_from as changed_on,
        lag(party_id) over ownership as from_party,
        party_id as to_party,
        row_number() over ownership as entry_number
    from entries
    window ownership as (partition by store_id, concept_id order by valid_from nulls first)
)

select
    changed_on,
    store_id,
    concept_id,
    from_party,
    to_party
from hand_overs
where entry_number > 1 and from_party is distinct from to_party
order by changed_on desc, store_id asc, concept_id asc
