{{ governed_memory.log_rows('traces') }}
