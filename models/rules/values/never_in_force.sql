{{ governed_memory.rows_where(
    'never_in_force',
    'valid_from',
    "interval_status = 'never_in_force' and (valid_to is null or valid_to >= valid_from)",
    source='int_record_periods',
    detail="'superseded by ' || ended_by"
) }}
