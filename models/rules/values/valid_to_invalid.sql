{{ governed_memory.rows_where('valid_to_invalid', 'valid_to', "valid_to_problem = 'not_a_date'") }}
