with

{{ governed_memory.judged_events('cells') }},

-- What is asked of other rows, worked out for the few that need it
missing_sources as (
    {{ governed_memory.missing_sources() }}
),

conditions as (
    select
        judged.place,
        judged.cell_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field',
            'event_too_long': governed_memory.is_too_long(),
            'id_blank': governed_memory.is_blank('judged.cell_id'),
            'id_too_long': governed_memory.is_too_long_a_name('judged.cell_id'),
            'system_unknown': 'systems.system is null',
            'content_missing': 'coalesce(' ~ governed_memory.is_blank('judged.content') ~ ', true)',
            'content_too_long': 'strlen(judged.content) > 16777216',
            'share_out_of_range': 'not (coalesce(judged.confidence, 1) between 0 and 1 and coalesce(judged.importance, 0) between 0 and 1)',
            'ttl_missing': 'systems.needs_ttl and judged.ttl_seconds is null',
            'ttl_misplaced': 'judged.ttl_seconds is not null and (not systems.needs_ttl or judged.ttl_seconds <= 0 or judged.expires_at is null)',
            'source_missing': 'coalesce(' ~ governed_memory.is_blank('judged.source') ~ ', true) and coalesce(len(judged.source_ids), 0) = 0',
            'source_cell_unknown': 'missing_sources.place is not null',
            'approval_required': 'systems.needs_approval',
            'id_reserved': "judged.transition = 'write' and (starts_with(judged.cell_id, 'schema_') or starts_with(judged.cell_id, 'skill_'))",
            'session_missing': "not systems.needs_approval and coalesce(judged.session_id, '') = ''",
            'identity_conflict': governed_memory.identity_conflict('cell_id')
        }) }} as codes
    from judged
    left join {{ governed_memory.relation('memory_systems') }} as systems on judged.system = systems.system
    left join missing_sources on judged.place = missing_sources.place
    left join {{ governed_memory.relation('int_held') }} as held on judged.cell_id = held.held_id and held.stream = 'cells'
)

{{ governed_memory.refusals_of('conditions') }}
