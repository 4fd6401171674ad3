{{ governed_memory.intervals() }}
