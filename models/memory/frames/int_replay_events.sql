{{ governed_memory.log_events('replays', governed_memory.relation('stg_log_replays')) }}
