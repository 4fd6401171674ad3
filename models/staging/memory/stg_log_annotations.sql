{{ governed_memory.log_rows('annotations') }}
