{#- A line that was removed or cannot be read would else be missing from every table without a word. -#}
with

read_rows as (
    {%- for stream in governed_memory.log_streams() %}
    select
        '{{ stream }}' as stream,
        writer,
        seq
    from {{ governed_memory.relation('stg_log_' ~ stream) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
)

select
    heads.writer,
    heads.stream,
    heads.last_seq,
    count(read_rows.seq) as rows_read
from {{ governed_memory.relation('stg_log_heads') }} as heads
left join read_rows on heads.writer = read_rows.writer and heads.stream = read_rows.stream
group by heads.writer, heads.stream, heads.last_seq, heads.pruned_seq
having count(read_rows.seq) <> heads.last_seq - heads.pruned_seq or count(distinct read_rows.seq) <> count(read_rows.seq)
