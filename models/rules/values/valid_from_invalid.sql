{{ governed_memory.rows_where('valid_from_invalid', 'valid_from', "valid_from_problem = 'not_a_date'") }}
