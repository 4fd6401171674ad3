{{ governed_memory.register('parties', {'party_id': 'varchar', 'name': 'varchar', 'owner_role': 'varchar', 'boundary': 'varchar'}, key=['party_id']) }}
