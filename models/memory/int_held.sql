-- What is held already, as far as the guards ask; a writer puts here what its events name and no more
select
    'cells' as stream,
    cell_id as held_id,
    fingerprint,
    system,
    event_index,
    created_at,
    principal,
    session_id
from {{ governed_memory.relation('cells') }}
{%- set others = {
    'links': 'link_id', 'annotations': 'annotation_id', 'frames': 'frame_id', 'replays': 'replay_id', 'traces': 'trace_id', 'approvals': 'approval_id',
    'proposals': 'proposal_id'
} %}
{%- for stream, key in others.items() %}
union all
select
    '{{ stream }}' as stream,
    {{ key }} as held_id,
    fingerprint,
    null as system,
    null as event_index,
    null as created_at,
    principal,
    session_id
from {{ governed_memory.relation(stream) }}
{%- endfor %}
