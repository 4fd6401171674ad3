{#- What a thing of memory names must be there: a log from which something was taken, or a snapshot of one, shows here (M11). What retention
    removed of a stream is gone on purpose; where that has begun, what names rows of that stream cannot be told from it. -#}
with

held as (
    select
        'cells' as stream,
        cell_id as held_id
    from {{ governed_memory.relation('cells') }}
    {%- for stream, key in {'links': 'link_id', 'frames': 'frame_id', 'traces': 'trace_id', 'approvals': 'approval_id'}.items() %}
    union all
    select
        '{{ stream }}' as stream,
        {{ key }} as held_id
    from {{ governed_memory.relation(stream) }}
    {%- endfor %}
),

named as (
    {%- for stream, key, field, named_stream, ids in governed_memory.references_of_memory() %}
    select
        '{{ stream }}' as stream,
        {{ key }} as object_id,
        '{{ field }}' as field,
        '{{ named_stream }}' as named_stream,
        {{ ids }} as named_id
    from {{ governed_memory.relation(stream) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

pruned as (
    select distinct stream
    from {{ governed_memory.relation('stg_log_heads') }}
    where pruned_seq > 0
)

select
    named.stream,
    named.object_id,
    named.field,
    named.named_stream,
    named.named_id
from named
left join held on named.named_stream = held.stream and named.named_id = held.held_id
left join pruned on named.named_stream = pruned.stream
where named.named_id is not null and held.held_id is null and pruned.stream is null
