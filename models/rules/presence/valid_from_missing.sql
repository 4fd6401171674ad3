{{ governed_memory.rows_where('valid_from_missing', 'valid_from', "not is_valid_from_stated") }}
