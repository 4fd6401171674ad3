{{ governed_memory.edges_where('supersession_cycle', "ineffective_reason in ('points_at_itself', 'supersession_cycle', 'cycle_undecided')") }}
