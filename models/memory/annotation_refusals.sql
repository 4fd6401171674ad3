with

{{ governed_memory.judged_events('annotations') }},

conditions as (
    select
        judged.place,
        judged.annotation_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field',
            'event_too_long': governed_memory.is_too_long(),
            'id_blank': governed_memory.is_blank('judged.annotation_id'),
            'id_too_long': governed_memory.is_too_long_a_name('judged.annotation_id'),
            'kind_unknown': "coalesce(judged.kind, '') not in ('note', 'decay', 'doubt', 'trust')",
            'half_life_missing': "judged.kind = 'decay' and not coalesce(judged.half_life_seconds > 0, false)",
            'reason_missing': 'coalesce(' ~ governed_memory.is_blank('judged.reason') ~ ', true)',
            'cell_unknown': 'targets.held_id is null',
            'not_working': "targets.system <> 'working'",
            'identity_conflict': governed_memory.identity_conflict('annotation_id')
        }) }} as codes
    from judged
    left join {{ governed_memory.relation('int_held') }} as targets on judged.target_id = targets.held_id and targets.stream = 'cells'
    left join {{ governed_memory.relation('int_held') }} as held on judged.annotation_id = held.held_id and held.stream = 'annotations'
)

{{ governed_memory.refusals_of('conditions') }}
