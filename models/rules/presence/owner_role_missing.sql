{{ governed_memory.rows_where('owner_role_missing', 'owner_role', "not is_owner_role_stated") }}
