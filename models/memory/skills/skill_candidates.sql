{{ governed_memory.skill_candidates('(select built_at from ' ~ governed_memory.relation('stg_build') ~ ')') }}
