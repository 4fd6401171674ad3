{{ governed_memory.rows_where('valid_to_blank', 'valid_to', "valid_to_problem = 'blank'") }}
