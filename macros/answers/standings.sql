{#- How each record stands among the others of its concept (G4), as a clause `standings`. All of it is fixed by the record and the register:
    no date takes part, so it is worked out once, whatever is asked.

    contest_level   3 and 2: its writer owned the concept when it was written; 1 and 0: not. 3 and 1: since when and until when is known.
                    Only the highest level that is left contests.
    precedence      within that, the policy's criteria; equal where they do not tell two records apart
    recency         the later to begin, then the greater identifier: decides between equal values
    value_number    equal for equal values

    `candidates` names a clause of records, whole concepts at a time. -#}
{% macro standings(candidates='candidates', known_on=none) -%}
claimed_writers as (
    select store_id, record_index, concept_id, written_by, recorded_at, valid_from
    from {{ candidates }}
    where written_by is not null
),

authorized as ({{ governed_memory.written_by_owner('claimed_writers', ['store_id', 'record_index'], known_on) }}),

compared as (
    select
        candidates.store_id,
        candidates.record_index,
        candidates.concept_id,
        candidates.record_id,
        candidates.value,
        candidates.valid_from,
        authorized.record_index is not null as is_authoritative,
        candidates.is_validity_known,
        candidates.priority is not null or candidates.conflict_policy is not null as claims_precedence,
        not criteria.attests_writers as is_writer_claimed,
        {% for position in [1, 2, 3] -%}
        case criteria.criteria[{{ position }}]
            when 'source_rank' then -sources.source_rank
            when 'latest_valid_from' then candidates.valid_from - date '0001-01-01'
            when 'latest_recorded' then epoch_us(candidates.known_at)
        end as criterion_{{ position }}{{ ',' if not loop.last }}
        {% endfor %}
    from {{ candidates }} as candidates
    inner join {{ governed_memory.relation('int_store_criteria') }} as criteria
        on candidates.store_id = criteria.store_id
    left join authorized
        on candidates.store_id = authorized.store_id and candidates.record_index = authorized.record_index
    left join {{ governed_memory.relation('int_source_ranks') }} as sources
        on candidates.store_id = sources.store_id and candidates.source_id = sources.source_id
),

standings as (
    select
        store_id,
        record_index,
        concept_id,
        is_authoritative::integer * 2 + is_validity_known::integer as contest_level,
        dense_rank() over (
            concept_records
            order by is_authoritative, is_validity_known, criterion_1 nulls first, criterion_2 nulls first, criterion_3 nulls first
        ) as precedence,
        row_number() over (concept_records order by valid_from nulls first, record_id nulls first, record_index) as recency,
        dense_rank() over (concept_records order by value nulls first) as value_number,
        claims_precedence and not is_authoritative as oversteps,
        is_authoritative and is_writer_claimed as is_writer_not_attested
    from compared
    window concept_records as (partition by store_id, concept_id)
)
{%- endmacro %}
