{#- What things of memory name: stream, its key, the field, the stream named (a replay link starts at a frame), and the identifiers as SQL. A direct write may
    say any approval_id, which makes it none. -#}
{% macro references_of_memory() -%}
    {{- return([
        ['cells', 'cell_id', 'source_ids', 'cells', 'unnest(source_ids)'],
        ['cells', 'cell_id', 'approval_id', 'approvals', "case when transition = 'consolidate' then approval_id end"],
        ['links', 'link_id', 'from_cell_id', 'cells', "case when link_type <> 'replay' then from_cell_id end"],
        ['links', 'link_id', 'from_cell_id', 'frames', "case when link_type = 'replay' then from_cell_id end"],
        ['links', 'link_id', 'to_cell_id', 'cells', 'to_cell_id'],
        ['annotations', 'annotation_id', 'target_id', 'cells', 'target_id'],
        ['frames', 'frame_id', 'steps', 'cells', 'unnest(list_transform(steps, lambda step: step.cell_id))'],
        ['replays', 'replay_id', 'frame_id', 'frames', 'frame_id'],
        ['approvals', 'approval_id', 'frame_ids', 'frames', 'unnest(frame_ids)'],
        ['approvals', 'approval_id', 'trace_ids', 'traces', 'unnest(trace_ids)'],
        ['traces', 'trace_id', 'source_ids', 'cells', 'unnest(source_ids)'],
        ['approvals', 'approval_id', 'cell_id', 'cells', "case when verdict <> 'reject' then cell_id end"],
        ['decisions', 'decision_id', 'link_id', 'links', 'link_id'],
    ]) -}}
{%- endmacro %}
