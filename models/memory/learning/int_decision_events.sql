{{ governed_memory.log_events('decisions', governed_memory.relation('stg_log_decisions')) }}
