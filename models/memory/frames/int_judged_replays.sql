{{ governed_memory.held_events('replays') }}
