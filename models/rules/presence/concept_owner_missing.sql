{{ governed_memory.rows_where('concept_owner_missing', 'concept_owner', "concept_owner is null") }}
