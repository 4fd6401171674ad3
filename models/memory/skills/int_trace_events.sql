{{ governed_memory.log_events('traces', governed_memory.relation('stg_log_traces')) }}
