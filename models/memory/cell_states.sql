{{ governed_memory.cell_states('(select built_at from ' ~ governed_memory.relation('stg_build') ~ ')') }}
