{{ governed_memory.rows_where('source_missing', 'source', "source_id is null") }}
