{{ governed_memory.log_events('reads', governed_memory.relation('stg_log_reads')) }}
