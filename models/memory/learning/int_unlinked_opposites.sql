{{ governed_memory.opposite_schemas() }}
