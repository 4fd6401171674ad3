{{ governed_memory.register(
    'sources',
    {'store_id': 'varchar', 'source_id': 'varchar', 'title': 'varchar', 'locator': 'varchar', 'source_rank': 'integer'},
    key=['store_id', 'source_id']
) }}
