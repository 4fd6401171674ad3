{{ governed_memory.held_events('frames') }}
