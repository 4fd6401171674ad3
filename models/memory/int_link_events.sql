{{ governed_memory.log_events('links', governed_memory.relation('stg_log_links')) }}
