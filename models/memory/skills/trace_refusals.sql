with

{{ governed_memory.judged_events('traces') }},

told_steps as (
    select
        place,
        step,
        json_type(step, ['$.tool', '$.inputs_hash', '$.result_hash']) as texts,
        json_type(step, '$.succeeded') as outcome
    from (
        select
            place,
            unnest(json_extract(event, '$.steps[*]')) as step
        from {{ governed_memory.relation('int_judged_traces') }}
    )
),

step_shapes as (
    select
        place,
        max(
            json_type(step) <> 'OBJECT' or not list_has_all(['VARCHAR', 'NULL'], list_filter(texts, lambda kind: kind is not null))
            or coalesce(outcome not in ('BOOLEAN', 'NULL'), false)
        ) as has_malformed_step,
        max(
            json_type(step) = 'OBJECT'
            and len(list_filter(json_keys(step), lambda key: key not in ('tool', 'inputs_hash', 'result_hash', 'succeeded'))) > 0
        ) as has_unknown_field,
        max(
            list_count(texts) < 3 or list_contains(texts, 'NULL') or coalesce(outcome, 'NULL') = 'NULL'
            or coalesce({{ governed_memory.is_blank("(step ->> '$.tool')") }}, true)
        ) as is_incomplete
    from told_steps
    group by place
),

missing_sources as (
    {{ governed_memory.missing_sources() }}
),

conditions as (
    select
        judged.place,
        judged.trace_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field or step_shapes.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field or step_shapes.has_malformed_step',
            'event_too_long': governed_memory.is_too_long(),
            'id_blank': governed_memory.is_blank('judged.trace_id'),
            'id_too_long': governed_memory.is_too_long_a_name('judged.trace_id'),
            'skill_missing': 'coalesce(' ~ governed_memory.is_blank('judged.skill') ~ ', true)',
            'outcome_missing': 'judged.succeeded is null or judged.ended_at is null',
            'step_incomplete': 'step_shapes.is_incomplete',
            'reason_misplaced': 'judged.succeeded and judged.failure_reason is not null',
            'share_out_of_range': 'not judged.confidence between 0 and 1',
            'executor_missing': 'coalesce(' ~ governed_memory.is_blank('judged.executor') ~ ', true)',
            'trace_empty': 'coalesce(len(judged.steps), 0) = 0 and coalesce(' ~ governed_memory.is_blank('judged.model_output') ~ ', true)',
            'source_cell_unknown': 'missing_sources.place is not null',
            'plan_not_followed': 'len(judged.steps) > 0 and len(judged.planned_tools) > 0 and ('
                ~ 'list_slice(judged.planned_tools, 1, len(judged.steps)) <> ' ~ governed_memory.tools_called('judged')
                ~ ' or judged.succeeded and len(judged.planned_tools) <> len(judged.steps))',
            'session_missing': "coalesce(judged.session_id, '') = ''",
            'identity_conflict': governed_memory.identity_conflict('trace_id')
        }) }} as codes
    from judged
    left join step_shapes on judged.place = step_shapes.place
    left join missing_sources on judged.place = missing_sources.place
    left join {{ governed_memory.relation('int_held') }} as held on judged.trace_id = held.held_id and held.stream = 'traces'
)

{{ governed_memory.refusals_of('conditions') }}
