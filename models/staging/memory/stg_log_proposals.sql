{{ governed_memory.log_rows('proposals') }}
