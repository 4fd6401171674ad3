{{ governed_memory.log_rows('cells') }}
