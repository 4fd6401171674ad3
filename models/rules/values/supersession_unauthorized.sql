{{ governed_memory.edges_where('supersession_unauthorized', "ineffective_reason = 'unauthorized_supersession'") }}
