{{ governed_memory.log_events('approvals', governed_memory.relation('stg_log_approvals')) }}
