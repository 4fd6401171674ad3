{#- Whether a caller may read a cell (M5, G5): its session first, local unless the read is global and the caller may; then whom it is for. Who
    wrote a cell knows it. `on_date`: only cells that were there by the end of that day, and alive then. -#}
{% macro readable(cells, reader) -%}
    {{ governed_memory.of_session(cells, reader) }}
    and (
        {{ cells }}.principal = {{ reader.principal }}
        or {{ governed_memory.is_visible(cells ~ '.is_restricted', cells ~ '.release_to', reader.parties, reader.boundary) }}
    )
    and ({{ reader.on_date }} is null or {{ cells }}.recorded_at < {{ reader.on_date }} + 1)
{%- endmacro %}

{#- Whether something told belongs to the reader's session: the same name with another principal is another session. -#}
{% macro of_session(told, reader) -%}
    (
        {{ told }}.session_id is null or {{ reader.is_global }}
        or ({{ told }}.session_id = {{ reader.session_id }} and {{ told }}.principal = {{ reader.principal }})
    )
{%- endmacro %}

{#- The cells that match a question, the best first (M5). The share of the question's words that a cell has decides; a system that is asked for
    counts as half a word, and confidence, importance and the links of a cell together as less than half, so none of them ever outweighs a
    word. Ties by cell_id. Every part of the score is a column.

    terms is a condition on `term`, terms_count their number, clock an instant, reader as `readable` takes it. -#}
{% macro recalled(terms, terms_count, asked_system, clock, takes_expired, limit, reader) -%}
with

-- As one list, which the planner takes for one row: so it looks for what matched among the cells, and never the other way round
hits as (
    select unnest(numbers) as cell_number
    from (
        select list(cell_number) as numbers
        from {{ governed_memory.relation('cell_terms') }}
        where {{ terms }}
    )
),

matched as (
    select
        cell_number,
        count(*) as matched_terms
    from hits
    group by cell_number
),

readable as (
    select
        cells.cell_number,
        cells.cell_id,
        cells.system,
        cells.confidence,
        cells.importance,
        cells.expires_at,
        matched.matched_terms
    from {{ governed_memory.relation('cells') }} as cells
    inner join matched on cells.cell_number = matched.cell_number
    where {{ governed_memory.readable('cells', reader) }} and not {{ governed_memory.has_record('cells') }}
        and cells.cell_id not in (select cell_id from {{ governed_memory.relation('int_ended_skills') }})
),

parts as (
    select
        readable.cell_number,
        readable.cell_id,
        expiries.expired_at,
        readable.matched_terms,
        readable.matched_terms / {{ terms_count }} as term_share,
        case when readable.system = {{ asked_system }} then 0.5 else 0.0 end / {{ terms_count }} as system_part,
        0.2 * coalesce(readable.confidence, 0.0) / {{ terms_count }} as confidence_part,
        0.15 * coalesce(readable.importance, 0.0) / {{ terms_count }} as importance_part,
        0.14 * least(1.0, coalesce(weights.link_weight, 0.0)::double) / {{ terms_count }} as link_part
    from readable
    left join {{ governed_memory.relation('int_expiries') }} as expiries on readable.cell_id = expiries.cell_id
    left join {{ governed_memory.relation('cell_link_weights') }} as weights on readable.cell_id = weights.cell_id
    where {{ takes_expired }} or coalesce(least(readable.expires_at, expiries.expired_at) > {{ clock }}, true)
),

best as (
    select
        *,
        term_share + system_part + confidence_part + importance_part + link_part as score
    from parts
    order by score desc, cell_id
    limit {{ limit }}
)

-- What a cell holds is fetched for these few alone
select
    best.cell_id,
    cells.system,
    cells.content,
    cells.summary,
    cells.source,
    cells.source_ids,
    cells.session_id,
    cells.recorded_at,
    best.expired_at,
    best.matched_terms,
    best.term_share,
    best.system_part,
    best.confidence_part,
    best.importance_part,
    best.link_part,
    best.score
from {{ governed_memory.relation('cells') }} as cells
inner join best on cells.cell_number = best.cell_number
order by best.score desc, best.cell_id
{%- endmacro %}
