-- What is held already, as far as the guards ask; a writer puts here what its events name and no more
select
    'cells' as stream,
    cell_id as held_id,
    fingerprint,
    system
from {{ governed_memory.relation('cells') }}
{%- for stream, key in {'links': 'link_id', 'annotations': 'annotation_id', 'frames': 'frame_id'}.items() %}
union all
select
    '{{ stream }}' as stream,
    {{ key }} as held_id,
    fingerprint,
    null as system
from {{ governed_memory.relation(stream) }}
{%- endfor %}
