{{ governed_memory.rows_where('supersedes_missing', 'supersedes', "supersedes is null") }}
