{{ governed_memory.register('steward_actions', {
    'item_id': 'varchar', 'action': 'varchar', 'party_id': 'varchar', 'snoozed_until': 'date', 'reason': 'varchar', 'acted_by': 'varchar',
    'acted_at': 'timestamp', 'entry_number': 'bigint'
}, appended='all') }}
