{{ governed_memory.held_events('cells') }}
