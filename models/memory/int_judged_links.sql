{{ governed_memory.held_events('links') }}
