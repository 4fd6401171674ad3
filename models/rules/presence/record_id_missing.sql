{{ governed_memory.rows_where('record_id_missing', 'record_id', "record_id is null") }}
