{{ governed_memory.union_of_rules('presence') }}
