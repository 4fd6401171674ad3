{{ governed_memory.rows_where('concept_owner_missing', 'concept_owner', "not is_concept_owner_stated") }}
