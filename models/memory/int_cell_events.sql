{{ governed_memory.log_events('cells', governed_memory.relation('stg_log_cells')) }}
