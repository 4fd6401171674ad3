{{ governed_memory.log_rows('links') }}
