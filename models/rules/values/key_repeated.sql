{{ governed_memory.rows_where('key_repeated', 'record_id', "has_repeated_key") }}
