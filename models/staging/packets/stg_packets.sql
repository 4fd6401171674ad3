{{ governed_memory.exported_rows('packets', {
    'packet_id': 'varchar', 'caller': 'varchar', 'caller_parties': 'varchar[]', 'caller_boundary': 'varchar', 'as_of': 'date', 'scope': 'varchar[]',
    'known_on': 'varchar', 'unit': 'varchar', 'budget': 'bigint', 'used': 'bigint', 'stable_until': 'date', 'built_at': 'timestamp', 'text_sha256': 'varchar'
}) }}
