{{ governed_memory.rows_where('release_to_missing', 'release_to', "carries_restriction and release_to is null") }}
