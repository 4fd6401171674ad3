{{ governed_memory.log_rows('replays') }}
