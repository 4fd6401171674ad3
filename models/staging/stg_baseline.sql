{{ governed_memory.register('baseline', {
    'store_id': 'varchar', 'rule_id': 'varchar', 'field': 'varchar', 'record_id': 'varchar', 'detail': 'varchar', 'fingerprint': 'varchar',
    'finding_count': 'integer', 'created_on': 'date'
}) }}
