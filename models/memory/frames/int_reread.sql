{#- The rows of the log that hold cells and frames, and the fingerprint that each of them makes. A replay reads the rows again and makes the
    fingerprints anew, outside SQL: they are hashes of canonical JSON, and no engine writes numbers and control characters as that does
    (1e-07, \u001f). A build takes the fingerprint that a row states; the log's own check makes them anew. -#}
{% for stream, key in {'cells': 'cell_id', 'frames': 'frame_id'}.items() -%}
select
    '{{ stream }}' as stream,
    held.{{ key }} as held_id,
    logged.event,
    held.fingerprint as remade_fingerprint
from {{ governed_memory.relation(stream) }} as held
inner join {{ governed_memory.relation('stg_log_' ~ stream) }} as logged on held.writer = logged.writer and held.seq = logged.seq
{{ 'union all' if not loop.last }}
{% endfor %}
