{{ governed_memory.log_rows('approvals') }}
