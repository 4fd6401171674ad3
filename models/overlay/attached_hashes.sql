{#- Whether a store still is what it was, without a copy of it: rows as they were read, whatever their order (M11). Roles alone, and none of the
    engine's own hashes, so that it is the same on every version of it. -#}
with

rows_hashed as (
    select
        store_id,
        sha256(json_array(
            record_id, concept_id, value, source_id, conflict_policy,
            {{ governed_memory.roles() | reject('in', ['record_id', 'concept', 'value', 'source', 'conflict_policy']) | join(', ') }},
            is_valid_from_stated, is_valid_to_stated, valid_from_problem, valid_to_problem, states_policy,
            malformed_field
        )::varchar) as row_hash
    from {{ governed_memory.relation('record_rows') }}
)

select
    store_id,
    count(*) as row_count,
    sha256(string_agg(row_hash, '' order by row_hash)) as rows_hash
from rows_hashed
group by store_id
