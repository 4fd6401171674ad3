{{ governed_memory.held_events('annotations') }}
