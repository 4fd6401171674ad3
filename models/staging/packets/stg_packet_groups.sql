{{ governed_memory.exported_rows('packet_groups', {
    'packet_id': 'varchar', 'group_id': 'varchar', 'standing': 'varchar', 'size': 'bigint', 'score': 'double', 'reasons': 'varchar[]'
}) }}
