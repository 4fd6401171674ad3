{{ governed_memory.rows_where('open_end_sentinel', 'valid_to', "valid_to_problem = 'sentinel'") }}
