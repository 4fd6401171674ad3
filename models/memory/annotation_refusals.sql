with

judged as ({{ governed_memory.judged_events('annotations', governed_memory.relation('int_judged_annotations')) }}),

conditions as (
    select
        judged.place,
        judged.annotation_id as target_id,
        judged.transition,
        {{ governed_memory.broken_conditions({
            'field_unknown': 'judged.has_unknown_field',
            'field_malformed': 'judged.has_malformed_field',
            'kind_unknown': "coalesce(judged.kind, '') not in ('note', 'decay', 'doubt', 'trust')",
            'half_life_missing': "judged.kind = 'decay' and not coalesce(judged.half_life_seconds > 0, false)",
            'reason_missing': "coalesce(trim(judged.reason), '') = ''",
            'cell_unknown': 'cells.cell_id is null',
            'not_working': "cells.system <> 'working'",
            'identity_conflict': 'annotations.fingerprint <> judged.fingerprint'
        }) }} as codes
    from judged
    left join {{ governed_memory.relation('cells') }} as cells on judged.target_id = cells.cell_id
    left join {{ governed_memory.relation('annotations') }} as annotations using (annotation_id)
)

{{ governed_memory.refusals_of('conditions') }}
