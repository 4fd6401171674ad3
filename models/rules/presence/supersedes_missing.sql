{{ governed_memory.rows_where('supersedes_missing', 'supersedes', "not is_supersedes_stated") }}
