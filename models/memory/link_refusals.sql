with

{{ governed_memory.judged_events('links') }},

conditions as (
    select
        judged.place,
        judged.told.link_id as target_id,
        judged.told.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field',
            'link_type_unknown': 'types.link_type is null',
            'weight_out_of_range': 'not judged.told.weight between 0 and 1',
            'self_link': 'judged.told.from_cell_id = judged.told.to_cell_id',
            'reason_missing': "judged.told.link_type = 'conflict' and coalesce(trim(judged.told.reason), '') = '' and coalesce(len(judged.told.source_ids), 0) = 0",
            'cell_unknown': 'ends_held.place is null',
            'link_type_reserved': 'types.written_by <> judged.told.transition',
            'identity_conflict': governed_memory.identity_conflict('link_id')
        }) }} as codes
    from judged
    left join {{ governed_memory.relation('link_types') }} as types on judged.told.link_type = types.link_type
    left join (
        select judged.place
        from judged
        inner join {{ governed_memory.relation('int_held') }} as ends_from on judged.told.from_cell_id = ends_from.held_id
        inner join {{ governed_memory.relation('int_held') }} as ends_to on judged.told.to_cell_id = ends_to.held_id
        -- a replay starts from its frame
        where ends_from.stream in ('cells', 'frames') and ends_to.stream = 'cells'
    ) as ends_held using (place)
    left join {{ governed_memory.relation('int_held') }} as held on judged.told.link_id = held.held_id and held.stream = 'links'
)

{{ governed_memory.refusals_of('conditions') }}
