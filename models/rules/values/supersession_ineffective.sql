{{ governed_memory.edges_where('supersession_ineffective', "ineffective_reason in ('points_at_withdrawal', 'successor_without_start')") }}
