{{ governed_memory.rows_where('owner_role_missing', 'owner_role', "owner_role is null") }}
