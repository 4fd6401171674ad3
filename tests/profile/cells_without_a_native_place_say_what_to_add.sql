{#- has_native_place repeats what the words say, but for the one cell that the native specification still leaves open. -#}
select field_id, target, words, has_native_place
from {{ governed_memory.relation('field_mappings') }}
where
    (has_native_place and starts_with(words, 'add:'))
    or (not has_native_place and not starts_with(words, 'add:') and (field_id, target) <> ('expected_concepts', 'dimension'))
