{{ governed_memory.exported_rows('packet_members', {
    'packet_id': 'varchar', 'group_id': 'varchar', 'store_id': 'varchar', 'concept_id': 'varchar', 'member_id': 'varchar'
}) }}
