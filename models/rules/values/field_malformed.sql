{#- Several owners have the shape of a list because the owners are in dispute: concept_owner_ambiguous reports that, once per concept. -#}
select
    store_id,
    record_index,
    {{ governed_memory.offender() }} as record_id,
    concept_id,
    malformed_field as field,
    'field_malformed' as rule_id,
    null::varchar as detail
from {{ governed_memory.relation('record_rows') }}
where malformed_field is not null and not (malformed_field = 'concept_owner' and {{ governed_memory.names_several_owners() }})
