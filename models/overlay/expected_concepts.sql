select * from {{ governed_memory.relation('stg_expected_concepts') }}
