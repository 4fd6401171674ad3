{{ governed_memory.rows_where('scope_contradicted', 'does_not_apply_to', "list_has_any(applies_to, does_not_apply_to)") }}
