{{ governed_memory.rows_where('record_id_long', 'record_id', "length(record_id) > 40", detail="length(record_id) || ' characters'") }}
