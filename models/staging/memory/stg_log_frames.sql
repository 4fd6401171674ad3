{{ governed_memory.log_rows('frames') }}
