{{ governed_memory.rows_where('release_to_missing', 'release_to', "carries_restriction and not is_release_to_stated") }}
