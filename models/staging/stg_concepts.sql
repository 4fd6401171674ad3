{{ governed_memory.register('concepts', {'concept_id': 'varchar', 'cardinality': 'varchar'}, key=['concept_id']) }}
