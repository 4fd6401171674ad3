{#- What a thing of memory names must be there: a log from which something was taken, or a snapshot of one, shows here (M11). What retention
    removed of a stream is gone on purpose; where that has begun, what names rows of that stream cannot be told from it. -#}
with

held as (
    select
        'cells' as stream,
        cell_id as held_id
    from {{ governed_memory.relation('cells') }}
    {%- for stream, key in {'links': 'link_id', 'frames': 'frame_id', 'approvals': 'approval_id'}.items() %}
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
    stream,
    object_id,
    field,
    named_stream,
    named_id
from named
where
    named_id is not null
    and named_stream not in (select stream from pruned)
    and (named_stream, named_id) not in (
        select
            stream,
            held_id
        from held
    )
