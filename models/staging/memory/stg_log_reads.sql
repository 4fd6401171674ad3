{{ governed_memory.log_rows('reads') }}
