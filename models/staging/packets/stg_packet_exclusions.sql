{{ governed_memory.exported_rows('packet_exclusions', {
    'packet_id': 'varchar', 'reason': 'varchar', 'group_id': 'varchar', 'concept_id': 'varchar', 'group_count': 'bigint'
}) }}
