{{ governed_memory.rows_where('valid_from_missing', 'valid_from', "valid_from is null and valid_from_problem is null") }}
