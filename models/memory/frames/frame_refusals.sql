with

{{ governed_memory.judged_events('frames') }},

{{ governed_memory.told_steps() }},

step_shapes as (
    select
        place,
        max(is_malformed) as has_malformed_step,
        max(has_unknown_field) as has_unknown_field
    from told_steps
    group by place
),

-- What is asked of the steps, and of the cells that they name, worked out for each frame
steps as (
    select
        judged.place,
        judged.principal,
        judged.session_id,
        struct_extract(steps.step, 'position') as position,
        struct_extract(steps.step, 'cell_id') as cell_id
    from judged
    cross join unnest(judged.steps) as steps (step)
),

asked as (
    select
        steps.place,
        count(*) > count(distinct steps.cell_id) as repeats_a_cell,
        count(steps.position) not in (0, count(*)) as leaves_out_positions,
        count(steps.position) > count(distinct steps.position) as repeats_a_position,
        max(cells.held_id is null) as names_an_unknown_cell,
        max(systems.needs_approval) as names_what_was_learned,
        max(cells.principal <> steps.principal or coalesce(cells.session_id, '') <> steps.session_id) as reaches_elsewhere
    from steps
    left join {{ governed_memory.relation('int_held') }} as cells on steps.cell_id = cells.held_id and cells.stream = 'cells'
    left join {{ governed_memory.relation('memory_systems') }} as systems on cells.system = systems.system
    group by steps.place
),

conditions as (
    select
        judged.place,
        judged.frame_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field or step_shapes.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field or step_shapes.has_malformed_step',
            'event_too_long': governed_memory.is_too_long(),
            'id_blank': governed_memory.is_blank('judged.frame_id'),
            'id_too_long': governed_memory.is_too_long_a_name('judged.frame_id'),
            'scene_missing': 'coalesce(' ~ governed_memory.is_blank('judged.scene') ~ ', true)',
            'goal_missing': 'coalesce(' ~ governed_memory.is_blank('judged.goal') ~ ', true)',
            'action_missing': 'coalesce(' ~ governed_memory.is_blank('judged.action') ~ ', true)',
            'outcome_missing': 'coalesce(' ~ governed_memory.is_blank('judged.outcome') ~ ', true)',
            'span_inverted': 'judged.starts_at > judged.ends_at',
            'position_missing': 'asked.leaves_out_positions',
            'position_repeated': 'asked.repeats_a_position',
            'step_repeated': 'asked.repeats_a_cell',
            'steps_missing': 'coalesce(len(judged.steps), 0) = 0',
            'not_observed': 'asked.names_what_was_learned',
            'cell_unknown': 'asked.names_an_unknown_cell',
            'session_missing': "coalesce(judged.session_id, '') = ''",
            'cell_elsewhere': 'asked.reaches_elsewhere',
            'identity_conflict': governed_memory.identity_conflict('frame_id')
        }) }} as codes
    from judged
    left join step_shapes on judged.place = step_shapes.place
    left join asked on judged.place = asked.place
    left join {{ governed_memory.relation('int_held') }} as held on judged.frame_id = held.held_id and held.stream = 'frames'
)

{{ governed_memory.refusals_of('conditions') }}
