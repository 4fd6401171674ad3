{{ governed_memory.register('concept_ownerships', {
    'store_id': 'varchar', 'concept_id': 'varchar', 'party_id': 'varchar', 'valid_from': 'date', 'recorded_at': 'timestamp'
}, appended='all') }}
