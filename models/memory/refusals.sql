{{ governed_memory.log_events('refusals', governed_memory.relation('stg_log_refusals')) }}
