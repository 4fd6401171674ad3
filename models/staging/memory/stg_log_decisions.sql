{{ governed_memory.log_rows('decisions') }}
