{#- Rows of a stream of the memory log that are not what was written: whose event does not give the chain that it states, or that are missing
    before what their head names as the last (docs/memory_log.md). Nothing is built of a stream that fails. -#}
{% test follows_its_chain(model, stream) %}
with

heads as (
    select
        writer,
        last_seq,
        last_chain,
        pruned_seq,
        coalesce(pruned_chain, sha256('governed_memory log 1' || chr(10) || writer || chr(10) || stream)) as pruned_chain
    from {{ governed_memory.relation('stg_log_heads') }}
    where stream = '{{ stream }}'
),

chains as (
    select
        writer,
        seq,
        chain
    from {{ model }}
    union all
    select
        writer,
        pruned_seq as seq,
        pruned_chain as chain
    from heads
),

counts as (
    select
        writer,
        count(*) as row_count
    from {{ model }}
    group by writer
)

select
    told.writer,
    told.seq
from {{ model }} as told
left join chains as before on told.writer = before.writer and told.seq = before.seq + 1
where told.chain is distinct from sha256(before.chain || chr(10) || told.seq || chr(10) || told.event)
union all
select
    heads.writer,
    heads.last_seq as seq
from heads
left join chains as ends on heads.writer = ends.writer and heads.last_seq = ends.seq
left join counts on heads.writer = counts.writer
where ends.chain is distinct from heads.last_chain or coalesce(counts.row_count, 0) <> heads.last_seq - heads.pruned_seq
{% endtest %}
