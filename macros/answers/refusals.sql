{#- Of which concepts no answer can be trusted, one row each with the one reason: an attestation that does not verify (G9), or else several
    records of one identifier (G4). `concepts` and `records` name clauses; only concepts and records in them are looked at. -#}
{% macro refused_concepts(concepts, records, known_on=none) -%}
    with

    failed as ({{ governed_memory.failed_concepts(concepts) }}),

    clashing as ({{ governed_memory.clashing_rows(known_on) }}),

    sharing_id as (
        select distinct
            held.store_id,
            held.concept_id
        from {{ records }} as held
        semi join clashing
            on held.store_id = clashing.store_id and held.record_index = clashing.record_index
        where held.concept_id is not null
    )

    select store_id, concept_id, 'integrity_failed' as reason
    from failed
    union all
    select sharing_id.store_id, sharing_id.concept_id, 'duplicate_record_id'
    from sharing_id
    anti join failed
        on sharing_id.store_id = failed.store_id and sharing_id.concept_id = failed.concept_id
{%- endmacro %}

{#- A failure that names no concept is one of the whole store: what was signed of it cannot be told, nor what is missing from it (G9). -#}
{% macro failed_concepts(concepts) -%}
    select distinct
        asked.store_id,
        asked.concept_id
    from {{ concepts }} as asked
    inner join {{ governed_memory.relation('stg_integrity_failures') }} as failures
        on asked.store_id = failures.store_id and (failures.concept_id is null or asked.concept_id = failures.concept_id)
    where asked.concept_id is not null
{%- endmacro %}
