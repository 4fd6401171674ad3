{{ governed_memory.log_events('proposals', governed_memory.relation('stg_log_proposals')) }}
