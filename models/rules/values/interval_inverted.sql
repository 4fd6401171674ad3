{{ governed_memory.rows_where('interval_inverted', 'valid_to', "valid_to < valid_from") }}
