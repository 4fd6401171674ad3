{{ governed_memory.edges_where(
    'successor_before_predecessor',
    'successor_valid_from < predecessor_valid_from and successor_id <> predecessor_id',
    source='int_supersession_edges'
) }}
