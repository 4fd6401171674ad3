select * from {{ governed_memory.relation('stg_concept_ownerships') }}
