select * from {{ governed_memory.relation('stg_sources') }}
