{{ governed_memory.rows_where('does_not_apply_to_missing', 'does_not_apply_to', "states_rule and not is_does_not_apply_to_stated") }}
