{{ governed_memory.rows_where('applies_to_missing', 'applies_to', "states_rule and not is_applies_to_stated") }}
