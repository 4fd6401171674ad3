{#- What comes of evidence is no surer, no less classified and no wider released than any of it (M14), as clauses: `bounds` has a row for each
    `key` of the clause `evidence`, rows of key and cell_id; `held` says of these what they are bound by, by default the cells. Where a part of it does not say how sure it is, nobody can say so of the whole. An
    evidence without a list is released to nobody in particular and narrows nothing; lists without a party in common leave nobody. -#}
{% macro bounds_of_evidence(evidence, key, held=none) -%}
bounded_cells as (
    select
        evidence.{{ key }},
        cells.cell_id,
        cells.confidence,
        nullif(trim(cells.classification), '') as classification,
        cells.release_to,
        cells.is_restricted,
        -- a class that the seed does not know is stricter than all that it knows
        coalesce(classes.strictness, 2147483647) as strictness
    from {{ evidence }} as evidence
    inner join {{ held or governed_memory.relation('cells') }} as cells on evidence.cell_id = cells.cell_id
    left join {{ governed_memory.relation('classifications') }} as classes on trim(cells.classification) = classes.classification
),

bounds_of_all as (
    select
        {{ key }},
        list_sort(list(cell_id)) as source_ids,
        case when count(confidence) = count(*) then min(confidence) end as confidence,
        arg_max(classification, (strictness, classification)) filter (where classification is not null) as classification,
        count(*) filter (where is_restricted) as restricted_cells
    from bounded_cells
    group by {{ key }}
),

bounds_of_parties as (
    select
        {{ key }},
        party,
        count(distinct cell_id) as releasing_cells
    from (
        select
            {{ key }},
            cell_id,
            unnest(release_to) as party
        from bounded_cells
        where is_restricted
    )
    group by {{ key }}, party
),

common_parties as (
    select
        parties.{{ key }},
        list(parties.party order by parties.party) as release_to
    from bounds_of_parties as parties
    inner join bounds_of_all as totals on parties.{{ key }} = totals.{{ key }} and parties.releasing_cells = totals.restricted_cells
    group by parties.{{ key }}
),

bounds as (
    select
        totals.{{ key }},
        totals.source_ids,
        totals.confidence,
        case
            when totals.classification is not null then totals.classification
            when totals.restricted_cells > 0 and common.release_to is null then (
                select min(classification)
                from {{ governed_memory.relation('classifications') }}
                where is_for_nobody_named
            )
        end as classification,
        coalesce(common.release_to, []) as release_to
    from bounds_of_all as totals
    left join common_parties as common on totals.{{ key }} = common.{{ key }}
)
{%- endmacro %}
