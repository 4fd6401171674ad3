with

{{ governed_memory.judged_events('replays') }},

conditions as (
    select
        judged.place,
        judged.replay_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field',
            'frame_unknown': 'frames.held_id is null',
            'identity_conflict': governed_memory.identity_conflict('replay_id')
        }) }} as codes
    from judged
    left join {{ governed_memory.relation('int_held') }} as frames on judged.frame_id = frames.held_id and frames.stream = 'frames'
    left join {{ governed_memory.relation('int_held') }} as held on judged.replay_id = held.held_id and held.stream = 'replays'
)

{{ governed_memory.refusals_of('conditions') }}
