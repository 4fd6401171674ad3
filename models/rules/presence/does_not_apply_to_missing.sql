{{ governed_memory.rows_where('does_not_apply_to_missing', 'does_not_apply_to', "states_rule and does_not_apply_to is null") }}
