{{ governed_memory.held_events('approvals') }}
