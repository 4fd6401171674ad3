{{ governed_memory.log_events('frames', governed_memory.relation('stg_log_frames')) }}
