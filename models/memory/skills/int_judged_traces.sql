{{ governed_memory.held_events('traces') }}
