select * from {{ governed_memory.relation('stg_policy_criteria') }}
