{{ governed_memory.rows_where('valid_to_unstated', 'valid_to', "not is_valid_to_stated") }}
