{{ governed_memory.register('expected_concepts', {'store_id': 'varchar', 'concept_id': 'varchar'}, key=['store_id', 'concept_id']) }}
