{{ governed_memory.register('integrity_failures', {'store_id': 'varchar', 'concept_id': 'varchar', 'record_id': 'varchar', 'failure': 'varchar'}) }}
