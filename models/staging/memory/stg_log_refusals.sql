{{ governed_memory.log_rows('refusals') }}
