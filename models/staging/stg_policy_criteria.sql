{{ governed_memory.register(
    'policy_criteria',
    {'policy_id': 'varchar', 'position': 'integer', 'criterion': 'varchar'},
    key=['policy_id'],
    items={'criterion': 'criteria'}
) }}
