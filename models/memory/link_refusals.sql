with

{{ governed_memory.judged_events('links') }},

ends_held as (
    select judged.place
    from judged
    inner join {{ governed_memory.relation('int_held') }} as ends_from on judged.from_cell_id = ends_from.held_id
    inner join {{ governed_memory.relation('int_held') }} as ends_to on judged.to_cell_id = ends_to.held_id
    -- a replay starts from its frame
    where ends_from.stream in ('cells', 'frames') and ends_to.stream = 'cells'
),

conditions as (
    select
        judged.place,
        judged.link_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field',
            'event_too_long': governed_memory.is_too_long(),
            'id_blank': governed_memory.is_blank('judged.link_id'),
            'id_too_long': governed_memory.is_too_long_a_name('judged.link_id'),
            'link_type_unknown': 'types.link_type is null',
            'weight_out_of_range': 'not judged.weight between 0 and 1',
            'self_link': 'judged.from_cell_id = judged.to_cell_id',
            'reason_missing': "judged.link_type = 'conflict' and coalesce(len(judged.source_ids), 0) = 0 and coalesce(" ~ governed_memory.is_blank('judged.reason') ~ ", true)",
            'cell_unknown': 'ends_held.place is null',
            'link_type_reserved': 'types.written_by <> judged.transition',
            'identity_conflict': governed_memory.identity_conflict('link_id')
        }) }} as codes
    from judged
    left join {{ governed_memory.relation('link_types') }} as types on judged.link_type = types.link_type
    left join ends_held on judged.place = ends_held.place
    left join {{ governed_memory.relation('int_held') }} as held on judged.link_id = held.held_id and held.stream = 'links'
)

{{ governed_memory.refusals_of('conditions') }}
