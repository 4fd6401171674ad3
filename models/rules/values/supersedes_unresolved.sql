{{ governed_memory.edges_where('supersedes_unresolved', "ineffective_reason = 'points_at_nothing'") }}
