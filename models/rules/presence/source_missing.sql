{{ governed_memory.rows_where('source_missing', 'source', "not is_source_stated") }}
