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

matched as (
    select
        cell_number,
        count(*) as matched_terms
    from {{ governed_memory.relation('cell_terms') }}
    where {{ terms }}
    group by cell_number
),

readable as (
    select
        cells.*,
        matched.matched_terms,
        expiries.expired_at
    from matched
    inner join {{ governed_memory.relation('cells') }} as cells using (cell_number)
    left join {{ governed_memory.relation('int_expiries') }} as expiries using (cell_id)
    where
        {{ governed_memory.readable('cells', reader) }}
        and ({{ takes_expired }} or coalesce(least(cells.expires_at, expiries.expired_at) > {{ clock }}, true))
),

parts as (
    select
        readable.*,
        matched_terms / {{ terms_count }} as term_share,
        case when system = {{ asked_system }} then 0.5 else 0.0 end / {{ terms_count }} as system_part,
        0.2 * coalesce(confidence, 0.0) / {{ terms_count }} as confidence_part,
        0.15 * coalesce(importance, 0.0) / {{ terms_count }} as importance_part,
        0.14 * least(1.0, coalesce(weights.link_weight, 0.0)::double) / {{ terms_count }} as link_part
    from readable
    left join {{ governed_memory.relation('cell_link_weights') }} as weights using (cell_id)
)

select
    cell_id,
    system,
    content,
    summary,
    source,
    source_ids,
    session_id,
    recorded_at,
    expired_at,
    matched_terms,
    term_share,
    system_part,
    confidence_part,
    importance_part,
    link_part,
    term_share + system_part + confidence_part + importance_part + link_part as score
from parts
order by score desc, cell_id
limit {{ limit }}
{%- endmacro %}
