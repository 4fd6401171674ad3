{{ governed_memory.log_heads() }}
