with

{{ governed_memory.judged_events('proposals') }},

conditions as (
    select
        judged.place,
        judged.proposal_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field',
            'event_too_long': governed_memory.is_too_long(),
            'id_blank': governed_memory.is_blank('judged.proposal_id'),
            'id_too_long': governed_memory.is_too_long_a_name('judged.proposal_id'),
            'kind_unknown': "coalesce(judged.kind, '') not in ('record', 'consolidation')",
            'change_incomplete': "judged.kind = 'record' and (" ~ governed_memory.says_no_change('judged') ~ " or judged.candidate_fingerprint is not null)",
            'candidate_missing': "judged.kind = 'consolidation' and (coalesce(" ~ governed_memory.is_blank('judged.candidate_fingerprint')
                ~ ", true) or coalesce(judged.store_id, judged.concept, judged.value, judged.valid_from::varchar, judged.supersedes::varchar) is not null)",
            'reason_missing': 'coalesce(' ~ governed_memory.is_blank('judged.reason') ~ ', true)',
            'candidate_unknown': "judged.kind = 'consolidation' and held.held_id is null and not coalesce(offered.is_current, false)",
            'session_missing': "coalesce(judged.session_id, '') = ''",
            'identity_conflict': governed_memory.identity_conflict('proposal_id')
        }) }} as codes
    from judged
    left join {{ governed_memory.relation('int_offered_candidates') }} as offered on judged.candidate_fingerprint = offered.candidate_fingerprint
    left join {{ governed_memory.relation('int_held') }} as held on judged.proposal_id = held.held_id and held.stream = 'proposals'
)

{{ governed_memory.refusals_of('conditions') }}
