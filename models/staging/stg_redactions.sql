{{ governed_memory.register('redactions', {
    'store_id': 'varchar', 'record_id': 'varchar', 'field': 'varchar', 'replacement': 'varchar', 'asked_by': 'varchar', 'because': 'varchar',
    'recorded_by': 'varchar', 'recorded_at': 'timestamp'
}, appended='all', items={'field': 'fields'}) }}
