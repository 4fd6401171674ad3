{{ governed_memory.register('policies', {'policy_id': 'varchar', 'policy_text': 'varchar'}, key=['policy_id']) }}
