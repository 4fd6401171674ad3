{{ governed_memory.log_events('annotations', governed_memory.relation('stg_log_annotations')) }}
