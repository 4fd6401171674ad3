{{ governed_memory.held_events('proposals') }}
