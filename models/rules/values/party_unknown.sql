{{ governed_memory.unregistered_names(
    'party_unknown', 'parties', 'party_id', {'concept_owner': 'concept_owner', 'release_to': 'unnest(release_to)'}
) }}
