{{ governed_memory.register('waivers', {'store_id': 'varchar', 'rule_id': 'varchar', 'record_id': 'varchar', 'reason': 'varchar', 'ends_on': 'date'}) }}
